// A stage whose last copy has left is told from a swarm that is stuck.
#include "apps/sim/copies.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/sim_swarm.h"

using namespace swarm;
using namespace swarm::sim;

namespace {

struct Fixture : testing::SimSwarm {
  Fixture() {
    num_stages = 2;
    training.steps = 100;
    for (const char* name : {"s0a", "s0b"}) add_peer(name, 0);
    for (const char* name : {"s1a", "s1b"}) add_peer(name, 1);
    add_trainer("t0");
    BOOST_REQUIRE(run_to_step(8));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(Copies, Fixture)

BOOST_AUTO_TEST_CASE(a_swarm_in_which_nobody_left_has_lost_nothing) {
  BOOST_TEST(!lost_stage(*this, {}).has_value());
  for (auto& [name, node] : nodes) kill(name);
  BOOST_TEST(!lost_stage(*this, {}).has_value());
}

BOOST_AUTO_TEST_CASE(a_stage_that_nobody_has_after_its_last_peer_left_is_lost) {
  kill("s1b");
  *disks.at("s1b") = Disk();
  start("s1b");
  kill("s1a");  // before the other has fetched
  system.run();
  BOOST_REQUIRE(copies(*this).at(1).empty());
  BOOST_TEST(!lost_stage(*this, {}).has_value());  // it will come back
  BOOST_REQUIRE(lost_stage(*this, {"s1a"}).has_value());
  BOOST_TEST(*lost_stage(*this, {"s1a"}) == 1);
}

// Seed 1020780191, asynchronous.
BOOST_AUTO_TEST_CASE(a_stage_that_was_only_in_memory_is_lost_with_it) {
  for (const char* name : {"s1a", "s1b"}) {
    *disks.at(name) = Disk();
    DiskTrouble full;
    full.full = true;
    disks.at(name)->set_trouble(full);
    kill(name);
  }
  BOOST_REQUIRE(lost_stage(*this, {}).has_value());
  BOOST_TEST(*lost_stage(*this, {}) == 1);
}

// Seed 51495 of the elastic faults.
BOOST_AUTO_TEST_CASE(a_stage_whose_disks_took_nothing_is_lost_when_the_others_have_to_go_back) {
  BOOST_REQUIRE(run_to_step(21));
  for (const char* name : {"s1a", "s1b"}) *disks.at(name) = Disk();
  for (const char* name : {"s0a", "s0b"}) kill(name);
  for (const char* name : {"s0a", "s0b"}) start(name);
  BOOST_TEST(!lost_stage(*this, {}).has_value());  // something should have been saved
  for (const char* name : {"s1a", "s1b"}) disks.at(name)->refuse("stage/1");
  BOOST_REQUIRE(lost_stage(*this, {}).has_value());
  BOOST_TEST(*lost_stage(*this, {}) == 1);
  for (const char* name : {"s1a", "s1b"}) disks.at(name)->put({"stage/1", 1}, "any", 3);
  BOOST_TEST(!lost_stage(*this, {}).has_value());
}

// Seed 50873 of the elastic faults, delayed: the disks of a stage are wiped after the end.
BOOST_AUTO_TEST_CASE(a_stage_that_has_lost_its_end_after_it_was_declared_is_lost) {
  const auto steps = copies(*this).at(0);
  const uint64_t now = *steps.rbegin(), before = *steps.begin();
  BOOST_REQUIRE(before < now);
  BOOST_TEST(!lost_stage(*this, {}, {}, now).has_value());
  for (const char* name : {"s1a", "s1b"}) {
    kill(name);
    *disks.at(name) = Disk();
  }
  disks.at("s1a")->put({"stage/1", before}, "a copy from before the end", 3);
  disks.at("s1a")->sync(1);
  for (const char* name : {"s1a", "s1b"}) start(name);
  BOOST_TEST(!lost_stage(*this, {}, {1}).has_value());
  BOOST_REQUIRE(lost_stage(*this, {}, {1}, now).has_value());
  BOOST_TEST(*lost_stage(*this, {}, {1}, now) == 1);
  BOOST_TEST(!lost_stage(*this, {}, {}, now).has_value());  // no disk was lost: it should be there
}

BOOST_AUTO_TEST_CASE(a_stage_with_a_copy_that_the_others_have_is_not_lost) {
  kill("s1a");
  BOOST_TEST(!copies(*this).at(1).empty());
  BOOST_TEST(!lost_stage(*this, {"s1a"}).has_value());
}

BOOST_AUTO_TEST_CASE(a_stage_whose_only_copies_match_nobody_is_lost_if_matching_ones_left) {
  kill("s1b");
  *disks.at("s1b") = Disk();
  disks.at("s1b")->put({"stage/1", 1}, "older than what the others have", 3);
  disks.at("s1b")->sync(1);
  kill("s0a");
  kill("s0b");
  kill("s1a");
  start("s0a");
  start("s0b");
  start("s1b");
  BOOST_TEST(copies(*this).at(1) == (std::set<uint64_t>{1}), boost::test_tools::per_element());
  BOOST_TEST(copies(*this).at(0).count(1) == 0u);
  BOOST_TEST(!lost_stage(*this, {}).has_value());
  BOOST_TEST(lost_stage(*this, {"s1a"}).has_value());
  BOOST_TEST(*lost_stage(*this, {}, {1}) == 1);
  BOOST_TEST(!lost_stage(*this, {}, {-1}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
