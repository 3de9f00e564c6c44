#include "actors/node/farewell.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <string>
#include <vector>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "apps/sim/deterministic_system.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;

namespace {

/// A node whose DHT says what the test wants.
struct Leaving {
  explicit Leaving(bool stays = false) {
    auto dht = system.own(system->spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](dht_get_atom, const std::string&) { return records; }};
    }));
    FarewellDeps deps;
    deps.dht = dht;
    deps.linger_s = 60;
    deps.stays = stays;
    deps.say = [this](const std::string& line) { lines.push_back(line); };
    deps.leave = [this] { left = true; };
    auto actor = system.own(spawn_farewell(*system, std::move(deps)));
    caf::anon_send(actor, begin_atom::value);
    system.run();
  }
  void publish(uint64_t term, uint32_t node, bool finished) {
    proto::CoordinatorRecord one;
    one.set_node_id(testing::node(node).raw());
    one.set_term(term);
    one.set_active(true);
    one.set_finished(finished);
    records = {{"subkey", one.SerializeAsString(), 1, 1s}};
  }

  DhtRecords records;
  sim::DeterministicSystem system;
  std::vector<std::string> lines;
  bool left = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(FarewellTest)

BOOST_AUTO_TEST_CASE(a_node_leaves_a_while_after_training_is_finished) {
  Leaving node;
  node.publish(1, 1, false);
  node.system.advance(1h);
  BOOST_TEST(!node.left);
  node.publish(1, 1, true);
  node.system.advance(30s);
  BOOST_TEST(!node.left);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 1u);
  BOOST_TEST(node.lines[0].find("finished") != std::string::npos);
  node.system.advance(40s);
  BOOST_TEST(node.left);
}

BOOST_AUTO_TEST_CASE(it_leaves_though_the_coordinator_has_left_before) {
  Leaving node;
  node.publish(1, 1, true);
  node.system.advance(10s);
  node.publish(2, 2, false);  // a successor gathers
  node.system.advance(60s);
  BOOST_TEST(node.left);
}

BOOST_AUTO_TEST_CASE(a_swarm_that_goes_back_keeps_it) {
  Leaving node;
  node.publish(1, 1, true);
  node.system.advance(10s);
  node.publish(1, 1, false);
  node.system.advance(1h);
  BOOST_TEST(!node.left);
}

BOOST_AUTO_TEST_CASE(one_that_is_told_to_stay_stays) {
  Leaving node(/*stays=*/true);
  node.publish(1, 1, true);
  node.system.advance(1h);
  BOOST_TEST(!node.left);
  BOOST_TEST(node.lines.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
