#include "routing/wiring/peer_choice.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;
namespace tt = boost::test_tools;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Choice : PeerChoice {
  explicit Choice(WiringCost cost = WiringCost::kOccupancy, uint32_t peers = 2)
      : PeerChoice({}, cost, 1) {
    for (uint32_t i = 1; i <= peers; ++i) add(peer(i));
  }
  PeerId pick_one(double now_s = 0) {
    Tries tries;
    return pick(tries, 1, now_s).value();
  }
  /// Carries one microbatch to the end at once.
  void serve(const PeerId& id, double waited_s, const Occupancy& occupancy) {
    ended(id, 1);
    answered(id, 1, waited_s, occupancy, 0);
  }
};

struct PaperChoice : Choice {
  PaperChoice() : Choice(WiringCost::kResponse) {}
};
struct ComputeChoice : Choice {
  ComputeChoice() : Choice(WiringCost::kCompute) {}
};

std::map<PeerId, int> shares_of(Choice& choice, int picks, double waited_1, Occupancy first,
                                double waited_2, Occupancy second) {
  std::map<PeerId, int> shares;
  for (int i = 0; i < picks; ++i) {
    const PeerId id = choice.pick_one();
    ++shares[id];
    id == peer(1) ? choice.serve(id, waited_1, first) : choice.serve(id, waited_2, second);
  }
  return shares;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(PeerChoiceTest)

BOOST_AUTO_TEST_CASE(the_slowest_part_is_what_a_peer_costs) {
  BOOST_TEST((Occupancy{0.1, 0.4, 0.2, 0.3}).seconds() == 0.4);
  BOOST_TEST((Occupancy{0.1, 0.4, 0.2, 0.3}).slowest() == "uplink");
  BOOST_TEST((Occupancy{0.1, 0, 0, 0.3}).slowest() == "pair");
  BOOST_TEST((Occupancy{0.1, 0, 0, 0}).slowest() == "compute");
  BOOST_TEST((Occupancy{}).slowest() == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_counts_as_not_known) {
  const Occupancy told = checked({kNan, -1, kInf, 1e30});
  BOOST_TEST(told.seconds() == 0);
  BOOST_TEST(checked({0.1, kNan, 0.3, -kInf}).seconds() == 0.3);
}

BOOST_AUTO_TEST_CASE(a_rate_that_is_not_known_costs_nothing) {
  BOOST_TEST(seconds_at(1'000'000, 0) == 0);
  BOOST_TEST(seconds_at(1'000'000, 5e5) == 2.0);
}

BOOST_FIXTURE_TEST_CASE(shares_follow_the_occupancy, Choice) {
  auto shares = shares_of(*this, 400, 1, {0.01, 0.03, 0, 0}, 1, {0.01, 0.005, 0, 0});
  BOOST_TEST(double(shares[peer(1)]) == 100, tt::tolerance(0.1));
}

BOOST_FIXTURE_TEST_CASE(shares_follow_the_response_as_in_the_paper, PaperChoice) {
  auto shares = shares_of(*this, 400, 0.3, {0.01, 0, 0, 0}, 0.1, {0.01, 0, 0, 0});
  BOOST_TEST(double(shares[peer(1)]) == 100, tt::tolerance(0.1));
}

BOOST_FIXTURE_TEST_CASE(shares_follow_the_compute_alone, ComputeChoice) {
  auto shares = shares_of(*this, 400, 1, {0.01, 0.9, 0.9, 0.9}, 1, {0.01, 0, 0, 0});
  BOOST_TEST(double(shares[peer(1)]) == 200, tt::tolerance(0.1));
}

BOOST_FIXTURE_TEST_CASE(the_way_is_no_cost, Choice) {
  auto shares = shares_of(*this, 400, 0.21, {0.01, 0, 0, 0}, 0.01, {0.01, 0, 0, 0});
  BOOST_TEST(double(shares[peer(1)]) == 200, tt::tolerance(0.02));
}

BOOST_FIXTURE_TEST_CASE(unfinished_work_bounds_what_a_peer_gets, Choice) {
  shares_of(*this, 40, 0.1, {0.1, 0, 0, 0}, 0.1, {0.1, 0, 0, 0});
  // The first answers no more: it holds 5 microbatches' worth and gets nothing else.
  for (int i = 0; i < 100; ++i) {
    const PeerId id = pick_one();
    if (id == peer(2)) serve(id, 0.1, {0.1, 0, 0, 0});
  }
  BOOST_TEST(unfinished_samples(peer(1)) == 5);
}

// Where a step ends with its last microbatch, less is left with it.
BOOST_AUTO_TEST_CASE(with_steps_unfinished_work_is_bound_by_the_quickest_response) {
  PeerChoice choice({}, WiringCost::kOccupancy, 1, PeerChoice::kPatienceOfSteps);
  for (uint32_t i = 1; i <= 2; ++i) choice.add(peer(i));
  for (int i = 0; i < 100; ++i) {
    Tries tries;
    const PeerId id = choice.pick(tries, 1, 0).value();
    if (i >= 40 && id == peer(1)) continue;
    choice.ended(id, 1);
    choice.answered(id, 1, 0.1, {0.1, 0, 0, 0}, 0.0);
  }
  BOOST_TEST(choice.unfinished_samples(peer(1)) == 2);  // twice the least busy one's
}

// The estimate of a slow link went to the deadline, and came back only after many tries.
BOOST_FIXTURE_TEST_CASE(silence_counts_until_there_is_an_answer, Choice) {
  for (int i = 0; i < 20; ++i) serve(pick_one(), 0.5, {0.1, 0, 0, 0});
  for (int i = 0; i < 5; ++i) {
    pick_one();
    ended(peer(1), 1);
    timed_out(peer(1), 1, 30);
  }
  BOOST_TEST(seconds_per_sample(peer(1)) > 5);
  answered(peer(1), 1, 0.5, {0.1, 0, 0, 0}, 0.0);
  BOOST_TEST(seconds_per_sample(peer(1)) == 0.1, tt::tolerance(1e-6));
}

BOOST_FIXTURE_TEST_CASE(who_holds_too_much_is_taken_when_there_is_no_other, Choice) {
  shares_of(*this, 40, 0.1, {0.1, 0, 0, 0}, 0.1, {0.1, 0, 0, 0});
  for (int i = 0; i < 50; ++i) pick_one();
  BOOST_TEST(double(unfinished_samples(peer(1))) == 25, tt::tolerance(0.1));
}

// Its microbatches are on the way, not waiting.
BOOST_FIXTURE_TEST_CASE(what_is_on_its_way_to_a_far_peer_is_no_unfinished_work, Choice) {
  auto far = [&](const PeerId& id) {
    ended(id, 1);
    answered(id, 1, 1.1, {0.1, 0, 0, 0}, /*away_s=*/1);
  };
  for (int i = 0; i < 40; ++i) {
    const PeerId id = pick_one();
    id == peer(1) ? far(id) : serve(id, 0.1, {0.1, 0, 0, 0});
  }
  for (int i = 0; i < 100; ++i) {
    const PeerId id = pick_one();
    if (id == peer(2)) serve(id, 0.1, {0.1, 0, 0, 0});
  }
  BOOST_TEST(unfinished_samples(peer(1)) >= 11);
}

// At the end of a step everybody would wait for its one microbatch.
BOOST_FIXTURE_TEST_CASE(a_hopeless_peer_gets_one_now_and_then, Choice) {
  double now_s = 0;
  int hopeless = 0;
  for (int i = 0; i < 30'000; ++i) {
    const PeerId id = pick_one(now_s);
    const bool slow = id == peer(1);
    hopeless += slow ? 1 : 0;
    slow ? serve(id, 5, {0.1, 5, 0, 0}) : serve(id, 0.1, {0.1, 0, 0, 0});
    now_s += 0.1;
  }
  BOOST_TEST(hopeless >= 3000 / (50 * 5));  // it may have become faster
  BOOST_TEST(hopeless <= 30);               // of 600 by its cost
}

BOOST_FIXTURE_TEST_CASE(a_hopeless_peer_that_became_fast_is_found, Choice) {
  double now_s = 0;
  std::map<PeerId, int> shares;
  for (int i = 0; i < 20'000; ++i) {
    const PeerId id = pick_one(now_s);
    const double cost_s = id == peer(1) && now_s < 100 ? 5 : 0.1;
    serve(id, cost_s, {0.1, cost_s, 0, 0});
    now_s += 0.1;
    if (now_s > 1900) ++shares[id];
  }
  BOOST_TEST(shares[peer(1)] > 400, shares[peer(1)]);
}

namespace {
/// Seconds of 600 in which one who carries one microbatch after the other waits for the first peer,
/// which never answers; the second takes 0.1 s.
double stuck_s(Choice& choice) {
  double now_s = 0, stuck = 0;
  while (now_s < 600) {
    const PeerId id = choice.pick_one(now_s);
    if (id == peer(2)) {
      now_s += 0.1;
      choice.serve(id, 0.1, {0.1, 0, 0, 0});
      continue;
    }
    const double wait_s = choice.deadline_s(id, 1);
    now_s += wait_s;
    stuck += wait_s;
    choice.ended(id, 1);
    choice.timed_out(id, 1, wait_s);
  }
  return stuck;
}
}  // namespace

// One that cannot forward: it was tried every 30 s, each time for longer.
BOOST_FIXTURE_TEST_CASE(a_peer_that_answers_no_more_is_tried_a_tenth_of_the_time_at_most, Choice) {
  be_patient(kPatienceOfSteps);
  shares_of(*this, 2, 0.1, {0.1, 0, 0, 0}, 0.1, {0.1, 0, 0, 0});
  const double stuck = stuck_s(*this);
  BOOST_TEST(stuck <= 80, stuck);
}

BOOST_FIXTURE_TEST_CASE(nor_is_one_that_never_answered, Choice) {
  be_patient(kPatienceOfSteps);
  while (pick_one() != peer(2)) ended(peer(1), 1);
  serve(peer(2), 0.1, {0.1, 0, 0, 0});
  const double stuck = stuck_s(*this);
  BOOST_TEST(stuck <= 80, stuck);
}

// A place is held while it is waited for, no step.
BOOST_FIXTURE_TEST_CASE(without_steps_it_is_tried_sooner, Choice) {
  shares_of(*this, 2, 0.1, {0.1, 0, 0, 0}, 0.1, {0.1, 0, 0, 0});
  const double stuck = stuck_s(*this);
  BOOST_TEST(stuck > 80, stuck);
  BOOST_TEST(stuck < 300, stuck);
}

// Its first silence was no cost of a microbatch.
BOOST_FIXTURE_TEST_CASE(a_peer_that_was_silent_first_is_tried_again_soon, Choice) {
  for (const uint32_t i : {1u, 2u}) {
    while (pick_one() != peer(i)) ended(peer(3 - i), 1);
    i == 2 ? serve(peer(2), 0.1, {0.1, 0, 0, 0}) : timed_out(peer(1), 1, 30);
  }
  ended(peer(1), 1);
  double now_s = 0;
  for (; pick_one(now_s) == peer(2); now_s += 1) serve(peer(2), 0.1, {0.1, 0, 0, 0});
  BOOST_TEST(now_s < 1'000, now_s);
}

BOOST_FIXTURE_TEST_CASE(lies_hurt_the_liar_only, Choice) {
  auto shares = shares_of(*this, 400, 0.1, checked({1e9, kNan, kInf, -1}), 0.1, {0.01, 0, 0, 0});
  BOOST_TEST(shares[peer(2)] >= 100);
  BOOST_TEST(std::isfinite(seconds_per_sample(peer(1))));
  shares = shares_of(*this, 400, 0.1, checked({3'600, 0, 0, 0}), 0.1, {0.01, 0, 0, 0});
  BOOST_TEST(shares[peer(2)] >= 390);
}

BOOST_FIXTURE_TEST_CASE(silence_raises_the_cost, Choice) {
  shares_of(*this, 40, 0.1, {0.1, 0, 0, 0}, 0.1, {0.1, 0, 0, 0});
  for (int i = 0; i < 20; ++i) timed_out(peer(1), 1, 2);
  BOOST_TEST(seconds_per_sample(peer(1)) > 1.5);
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_is_forgotten_or_banned_is_not_picked, Choice) {
  forget(peer(1));
  ban(peer(2), 3);
  ended(peer(1), 1);
  Tries tries;
  BOOST_TEST(!pick(tries, 1, 0).has_value());
  BOOST_TEST(!announced(peer(2), 3));
  BOOST_TEST(announced(peer(2), 4));
  add(peer(2));
  BOOST_TEST(pick_one() == peer(2));
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_there_already_changes_neither_way_nor_deadline) {
  Choice choice(WiringCost::kOccupancy, 1);
  choice.pick_one();
  choice.ended(peer(1), 1);
  choice.answered(peer(1), 1, 10, {0.1, 0, 0, 0}, 9.0);
  const double deadline_s = choice.deadline_s(peer(1), 1);
  for (int i = 0; i < 50; ++i) {
    choice.pick_one();
    choice.ended(peer(1), 1);
    choice.answered(peer(1), 1, 0.01, {0.1, 0, 0, 0}, std::nullopt);
  }
  BOOST_TEST(choice.deadline_s(peer(1), 1) == deadline_s);
}

BOOST_AUTO_TEST_CASE(by_lot_everybody_gets_as_much_whatever_it_costs) {
  Choice choice(WiringCost::kRandom, 2);
  auto shares = shares_of(choice, 1'000, 9, {9, 0, 0, 0}, 0.1, {0.1, 0, 0, 0});
  BOOST_TEST(shares[peer(1)] > 430);
  BOOST_TEST(shares[peer(2)] > 430);
}

BOOST_AUTO_TEST_CASE(in_fixed_pipelines_the_number_decides) {
  Choice choice(WiringCost::kFixed, 3);
  std::map<uint64_t, PeerId> ways;
  for (uint64_t round = 0; round < 3; ++round)
    for (uint64_t number = 0; number < 3; ++number) {
      Tries tries({}, number + 3 * round);
      const PeerId picked = choice.pick(tries, 1, 0).value();
      choice.serve(picked, 1, {static_cast<double>(number + 1), 0, 0, 0});
      auto [way, first] = ways.try_emplace(number, picked);
      BOOST_TEST((way->second == picked));
    }
  BOOST_TEST((ways[0] != ways[1] && ways[1] != ways[2] && ways[0] != ways[2]));
}

// -- where steps wait

struct StepChoice : Choice {
  explicit StepChoice(uint32_t peers = 4) : Choice(WiringCost::kOccupancy, peers) {
    be_patient(kPatienceOfSteps);
    deal_steps(/*slots=*/64, /*stage=*/1);
    for (uint32_t i = 0; i < 64; ++i) {  // peer 1 takes four times as long
      const PeerId id = pick_slot(i);
      serve(id, 0.5, {id == peer(1) ? 0.4 : 0.1, 0, 0, 0});
    }
  }
  PeerId pick_slot(uint64_t slot, uint64_t step = 0, double now_s = 0) {
    Tries tries({}, slot, step);
    return pick(tries, 1, now_s).value();
  }
};

BOOST_FIXTURE_TEST_CASE(the_slot_decides_whoever_sends_it, StepChoice) {
  StepChoice other;
  std::map<PeerId, int> shares;
  for (uint64_t slot = 0; slot < 64; ++slot) {
    const PeerId id = pick_slot(slot);
    BOOST_TEST((other.pick_slot(slot) == id));
    ++shares[id];
    ended(id, 1);
  }
  BOOST_TEST(shares[peer(1)] >= 4);
  BOOST_TEST(shares[peer(1)] <= 6);
  BOOST_TEST(std::abs(shares[peer(2)] - 20) <= 2);
}

// What was carried over the peer that it was meant for did not count where the coordinator could not
// reach that peer; it was meant for it again, for ever, and the step never ended (seed 4000033, lasting).
BOOST_FIXTURE_TEST_CASE(a_slot_that_is_carried_again_goes_another_way, StepChoice) {
  std::set<PeerId> ways;
  for (uint64_t attempt = 1; attempt < 8; ++attempt) {
    Tries tries({}, 5, 0, attempt);
    const auto id = pick(tries, 1, 0);
    BOOST_REQUIRE(id);
    ended(*id, 1);
    ways.insert(*id);
  }
  BOOST_TEST(ways.size() > 1u);
}

BOOST_FIXTURE_TEST_CASE(who_has_been_asked_is_not_asked_again_for_its_slot, StepChoice) {
  Tries tries({}, 3);
  std::set<PeerId> asked;
  for (int i = 0; i < 4; ++i) asked.insert(pick(tries, 1, 0).value());
  BOOST_TEST(asked.size() == 4u);
  BOOST_TEST(!pick(tries, 1, 0));
}

BOOST_FIXTURE_TEST_CASE(who_holds_more_than_a_step_takes_is_passed_over, StepChoice) {
  for (int i = 0; i < 30; ++i) pick_slot(0);  // unfinished: 30 x 0.1 s and more, a step takes 2 s
  std::map<PeerId, int> shares;
  for (uint64_t slot = 0; slot < 64; ++slot) ++shares[pick_slot(0)];
  BOOST_TEST(shares.size() > 1u);
}

BOOST_FIXTURE_TEST_CASE(who_is_too_slow_for_a_step_is_tried_early_in_one, StepChoice) {
  serve(peer(1), 9, {90, 0, 0, 0});
  serve(peer(1), 9, {90, 0, 0, 0});
  const double later_s = 1e4;  // 50 times its cost
  for (uint64_t slot = 32; slot < 64; ++slot) BOOST_TEST((pick_slot(slot, 1, later_s) != peer(1)));
  BOOST_TEST((pick_slot(2, 2, later_s) == peer(1)));
  BOOST_TEST((pick_slot(3, 2, later_s) != peer(1)));
}

BOOST_FIXTURE_TEST_CASE(a_step_does_not_wait_long_to_see_whether_who_was_silent_still_is,
                        StepChoice) {
  for (int i = 0; i < 5; ++i) timed_out(peer(1), 1, 60);
  BOOST_TEST(deadline_s(peer(1), 1) <= 3);
  be_patient(kPatience);
  BOOST_TEST(deadline_s(peer(1), 1) > 60);
}

// One that left the swarm unseen refuses each microbatch at once, and was the cheapest before.
BOOST_AUTO_TEST_CASE(who_is_not_ready_for_long_does_not_come_before_a_slower_one) {
  Choice choice;
  choice.be_patient(0.5);
  shares_of(choice, 20, 0.01, {0, 0.01, 0, 0}, 0.05, {0, 0.05, 0, 0});
  double now_s = 1;
  std::optional<PeerId> served;
  for (Tries tries; !served && now_s < 20;) {
    const auto picked = choice.pick(tries, 1, now_s);
    if (picked == peer(2)) served = picked;
    if (picked == peer(1)) {
      choice.ended(*picked, 1);
      choice.not_ready(*picked, now_s);
      tries.refused(0.02);
    }
    if (!picked) now_s += tries.start_over(0.1);
  }
  BOOST_TEST(served.has_value());
  BOOST_TEST(now_s < 2.5);
  choice.serve(peer(2), 0.05, {0, 0.05, 0, 0});
  BOOST_TEST((choice.pick_one(now_s) == peer(2)));  // and not the other first, for each microbatch
  choice.serve(peer(2), 0.05, {0, 0.05, 0, 0});
  BOOST_TEST((choice.pick_one(now_s + 2) == peer(1)));  // is it ready now?
}

BOOST_AUTO_TEST_CASE(all_that_were_not_ready_are_asked_again_once_one_of_them_is) {
  Choice choice;
  shares_of(choice, 20, 0.01, {0, 0.01, 0, 0}, 0.01, {0, 0.01, 0, 0});
  for (int i = 0; i < 200; ++i)
    for (uint32_t id : {1, 2}) choice.not_ready(peer(id), 1 + 0.02 * i);
  choice.serve(peer(2), 0.01, {0, 0.01, 0, 0});
  const auto shares = shares_of(choice, 20, 0.01, {0, 0.01, 0, 0}, 0.01, {0, 0.01, 0, 0});
  BOOST_TEST(shares.at(peer(1)) == 10);
}

BOOST_AUTO_TEST_SUITE_END()
