#define BOOST_TEST_MODULE swarm
#include <boost/test/unit_test.hpp>

/// Read by LeakSanitizer. CAF's event loop may drop its last listening or connected socket object
/// unfreed when an actor system ends, depending on which thread stops first; one a system, at exit.
/// The same goes for the broker of the links, when its next tick is in CAF's clock at that moment.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:caf::io::network::default_multiplexer::new_doorman\n"
         "leak:caf::io::network::default_multiplexer::new_scribe\n"
         "leak:swarm::actors::spawn_tcp_links\n";
}
