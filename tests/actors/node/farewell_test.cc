#include "actors/node/farewell.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <string>
#include <vector>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "apps/sim/deterministic_system.h"
#include "common/names.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;

namespace {

/// A node whose DHT says what the test wants.
struct Leaving {
  explicit Leaving(bool stays = false, bool collects = false) {
    auto dht = system.own(system->spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](dht_get_atom, const std::string&) { return records; },
              [this](dht_status_atom) { return status; }};
    }));
    status.joined = true;
    FarewellDeps deps;
    deps.dht = dht;
    deps.linger_s = 60;
    deps.stays = stays;
    deps.collects = collects;
    deps.records = "runs/x";
    deps.finished = [this] { ++finished; };
    deps.say = [this](const std::string& line) { lines.push_back(line); };
    deps.leave = [this] { left = true; };
    actor = system.own(spawn_farewell(*system, std::move(deps)));
    caf::anon_send(actor, begin_atom::value);
    system.run();
  }
  void publish(uint64_t term, uint32_t node, bool finished, const std::string& phase = {},
               uint64_t step = 0) {
    proto::CoordinatorRecord one;
    one.set_node_id(testing::node(node).raw());
    one.set_term(term);
    one.set_active(true);
    one.set_finished(finished);
    one.set_phase(phase);
    one.set_open(phase == "open");
    one.set_step(step);
    one.set_max_steps(300);
    if (step > 0) one.set_last_loss(2.5);
    one.set_vain(finished || phase == "open" ? 0 : 1);
    records = {{subkey_of(testing::node(node)), one.SerializeAsString(), 1, 1s}};
  }

  DhtRecords records;
  DhtStatus status;
  sim::DeterministicSystem system;
  std::vector<std::string> lines;
  caf::actor actor;
  bool left = false;
  int finished = 0;
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(FarewellTest)

BOOST_AUTO_TEST_CASE(who_is_cut_off_from_everybody_says_so_and_whom_it_dials) {
  Leaving node;
  node.system.advance(30s);
  BOOST_REQUIRE(node.lines.size() == 1u);
  BOOST_TEST(has(node.lines[0], "no coordinator is known yet"), node.lines[0]);
  node.status.joined = false;
  node.system.advance(30s);
  BOOST_REQUIRE(node.lines.size() == 2u);
  BOOST_TEST(has(node.lines[1], "has no link to any other node; it goes on"), node.lines[1]);
  node.status.join_failures = {
      {{"10.0.0.1", 7001}, {ErrorCode::kPeerTimeout, "no answer within 5 s"}},
      {{"10.0.0.2", 7001}, {ErrorCode::kLinkLost, "refused"}}};
  node.system.advance(1h);
  BOOST_REQUIRE(node.lines.size() == 3u);
  BOOST_TEST(
      has(node.lines[2], "dials 10.0.0.1:7001: no answer within 5 s, 10.0.0.2:7001: refused"),
      node.lines[2]);
}

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

BOOST_AUTO_TEST_CASE(it_tells_how_far_training_is_and_what_came_of_it) {
  Leaving node;
  node.publish(1, 1, false, "gathering: stage 1 has no peer");
  node.system.advance(30s);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 1u);  // once: nothing new
  BOOST_TEST(node.lines[0] == "gathering: stage 1 has no peer");
  for (int step = 1; step <= 12; ++step) {
    node.publish(1, 1, false, "open", static_cast<uint64_t>(step));
    node.system.advance(5s);
  }
  BOOST_TEST(node.lines.size() <= 8u);  // every ten seconds
  BOOST_TEST(has(node.lines.back(), "of 300, loss 2.5"), node.lines.back());
  node.publish(1, 1, true, "finished", 300);
  node.system.advance(10s);
  BOOST_TEST(has(node.lines.back(), "training is finished: 300 steps, loss 2.5"));
  BOOST_TEST(has(node.lines.back(), "records in runs/x"));
  BOOST_TEST(node.finished == 1);
}

BOOST_AUTO_TEST_CASE(a_part_that_waits_for_the_rest_is_said) {
  Leaving node;
  node.publish(1, 1, false, "minority: have 3 of 8, missing a, b, c, d, e", 17);
  node.system.advance(30s);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 1u);
  BOOST_TEST(node.lines[0] == "minority: have 3 of 8, missing a, b, c, d, e");
  BOOST_TEST(!node.left);
}

BOOST_AUTO_TEST_CASE(nobody_who_coordinates_is_said) {
  Leaving node;
  node.system.advance(1min);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 1u);
  BOOST_TEST(has(node.lines[0], "trainer = true"));
}

// It said that no coordinator was known yet.
BOOST_AUTO_TEST_CASE(a_part_that_lost_its_coordinator_says_that_it_is_cut_off) {
  Leaving node;
  node.publish(1, 1, false, "open", 3);
  node.system.advance(10s);
  node.records = {};
  node.system.advance(1min);
  BOOST_TEST(has(node.lines.back(), "the coordinator is heard no more"), node.lines.back());
}

BOOST_AUTO_TEST_CASE(it_leaves_at_once_when_somebody_holds_its_records) {
  Leaving node;
  node.publish(1, 1, false, "open", 3);
  node.system.advance(10s);
  caf::anon_send(node.actor, collected_atom::value, false);  // in the middle of training: a look
  node.system.advance(10s);
  BOOST_TEST(!node.left);
  node.publish(1, 1, true, "finished", 300);
  node.system.advance(10s);
  BOOST_TEST(!node.left);
  caf::anon_send(node.actor, collected_atom::value, false);
  node.system.run();
  BOOST_TEST(node.left);
}

BOOST_AUTO_TEST_CASE(who_collects_knows_that_training_is_finished) {
  Leaving node;
  node.publish(1, 1, false, "open", 299);
  node.system.advance(10s);  // it has not asked since
  caf::anon_send(node.actor, collected_atom::value, true);
  node.system.run();
  BOOST_TEST(node.left);
  for (const bool stays : {false, true}) {
    Leaving kept(stays, !stays);
    caf::anon_send(kept.actor, collected_atom::value, true);
    kept.system.run();
    BOOST_TEST(!kept.left);
  }
}

BOOST_AUTO_TEST_CASE(it_stays_while_somebody_reads_its_records) {
  Leaving node;
  node.publish(1, 1, true, "finished", 300);
  for (int i = 0; i < 100; ++i) {
    caf::anon_send(node.actor, reading_atom::value);
    node.system.advance(3s);
  }
  BOOST_TEST(!node.left);
  node.system.advance(50s);
  BOOST_TEST(!node.left);
  node.system.advance(20s);
  BOOST_TEST(node.left);
}

BOOST_AUTO_TEST_CASE(who_collects_stays_until_its_caller_ends_it) {
  Leaving node(/*stays=*/false, /*collects=*/true);
  node.publish(1, 1, true, "finished", 300);
  node.system.advance(10s);
  BOOST_TEST(node.finished == 1);
  caf::anon_send(node.actor, collected_atom::value, false);
  node.system.advance(1h);
  BOOST_TEST(!node.left);
  BOOST_TEST(node.finished == 1);
}

BOOST_AUTO_TEST_CASE(it_leaves_though_the_coordinator_has_left_before) {
  Leaving node;
  node.publish(1, 1, true);
  node.system.advance(10s);
  node.publish(2, 2, false);  // a successor gathers
  node.system.advance(60s);
  BOOST_TEST(node.left);
}

BOOST_AUTO_TEST_CASE(it_leaves_though_a_successor_validates_again) {
  Leaving node;
  node.publish(1, 1, true, "finished", 300);
  node.system.advance(10s);
  node.publish(2, 2, false, "open", 300);
  node.system.advance(60s);
  BOOST_TEST(node.left);
}

BOOST_AUTO_TEST_CASE(a_successor_that_trains_on_keeps_it) {
  Leaving node;
  node.publish(1, 1, true, "finished", 300);
  node.system.advance(10s);
  node.publish(2, 2, false, "open", 299);
  node.system.advance(1h);
  BOOST_TEST(!node.left);
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
