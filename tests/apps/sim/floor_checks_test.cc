// A mover that leaves its stage with too few is told from one whose stage has died.
#include "apps/sim/floor_checks.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/sim_swarm.h"

using namespace swarm;
using namespace swarm::sim;

namespace {

struct Fixture : testing::SimSwarm {
  std::vector<std::string> found;
  FloorChecks floors{
      *this, [this](const std::string&, const std::string& what) { found.push_back(what); }};

  Fixture() {
    num_stages = 2;
    training.steps = 1'000;
    for (const char* name : {"s0a", "s0b", "s0c"}) add_peer(name, 0);
    for (const char* name : {"s1a", "s1b"}) add_peer(name, 1);
    add_trainer("t0");
    BOOST_REQUIRE(run_to_step(2));
    wait(std::chrono::seconds(6));
  }
  void wait(std::chrono::milliseconds time) {
    for (; time.count() > 0; time -= std::chrono::milliseconds(100)) {
      system.advance(std::chrono::milliseconds(100));
      floors.now();
    }
  }
  void order(const std::string& peer, const std::string& why) {
    records::PeerMoves event;
    event.peer = peer;
    event.why = why;
    floors.event(records::make_event(0, 0, event));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(Floors, Fixture)

BOOST_AUTO_TEST_CASE(who_leaves_enough_behind_may_go) {
  order("s0a", "load");
  floors.moved("s0a", 0);
  BOOST_TEST(found.empty());
}

BOOST_AUTO_TEST_CASE(who_leaves_too_few_behind_is_found) {
  order("s1a", "load");
  floors.moved("s1a", 1);
  BOOST_TEST(found.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_operator_may_leave_one) {
  order("s1a", "operator");
  floors.moved("s1a", 1);
  BOOST_TEST(found.empty());
  kill("s0b");
  kill("s0c");
  wait(std::chrono::seconds(6));
  order("s0a", "operator");
  floors.moved("s0a", 0);
  BOOST_TEST(found.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_has_just_died_may_have_counted) {
  kill("s0b");
  kill("s0c");
  wait(std::chrono::seconds(1));
  order("s0a", "load");
  floors.moved("s0a", 0);
  BOOST_TEST(found.empty());
}

BOOST_AUTO_TEST_SUITE_END()
