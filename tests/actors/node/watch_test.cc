#include "actors/node/watch.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <stdexcept>
#include <vector>

#include "actors/net/requests.h"
#include "apps/sim/deterministic_system.h"

using namespace swarm;

namespace {

using fail_atom = caf::atom_constant<caf::atom("fail")>;
using quit_atom = caf::atom_constant<caf::atom("quit")>;

struct Watched {
  sim::DeterministicSystem system;
  std::vector<std::string> failed;
  caf::actor actor = system->spawn([](caf::event_based_actor* self) -> caf::behavior {
    actors::install_default_handlers(self);
    return {[](fail_atom) { throw std::runtime_error("a test"); },
            [self](quit_atom) { self->quit(); }};
  });

  Watched() {
    actors::watch(actor, [this](const std::string& why) { failed.push_back(why); });
    system.run();
  }
  ~Watched() {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    system.run();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(WatchTest)

// The process lived on without it: its node could no longer be asked for its records, and nobody knew.
BOOST_FIXTURE_TEST_CASE(one_that_dies_of_an_exception_is_told, Watched) {
  caf::anon_send(actor, fail_atom::value);
  system.run();
  BOOST_REQUIRE(failed.size() == 1u);
  BOOST_TEST(failed[0].find("unhandled_exception") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(one_that_is_killed_is_told, Watched) {
  caf::anon_send_exit(actor, caf::exit_reason::kill);
  system.run();
  BOOST_TEST(failed.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(one_that_ends_as_it_should_is_not, Watched) {
  caf::anon_send(actor, quit_atom::value);
  system.run();
  BOOST_TEST(failed.empty());
}

BOOST_FIXTURE_TEST_CASE(one_that_is_told_to_shut_down_is_not, Watched) {
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  system.run();
  BOOST_TEST(failed.empty());
}

BOOST_AUTO_TEST_SUITE_END()
