// Rounds of any topology and codec, one after the other: what codecs take is given back.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/codecs.h"
#include "tests/support/member_rounds.h"

namespace swarm::actors {
namespace {

using testing::exchange_of;
using testing::floats_of;
using testing::StageMembers;

/// Rounds of one stage, whose members and weights stay the same.
struct Rounds {
  StageMembers stage;
  AllReduceSetup setup;
  std::vector<double> wanted, got;  // sums of the means of rounds that counted
  double dropped = 0;               // of means, by those who reduce other parts now

  Rounds(Topology topology, tensor::Codec codec, std::vector<uint64_t> samples, uint64_t n,
         uint64_t min_part = 4)
      : setup{topology, codec, /*chunk_elements=*/96, min_part}, wanted(n), got(n) {
    stage.n = n;
    stage.samples = std::move(samples);
    stage.residuals.resize(stage.samples.size());
  }
  double total() const {
    double all = 0;
    for (const uint64_t count : stage.samples) all += static_cast<double>(count);
    return all;
  }
  /// Of the sums that the stage has now.
  void round(uint64_t seed, bool counts) {
    stage.round = Round(stage.round.value() + 1);
    auto exchange = exchange_of(stage, setup, seed);
    if (!counts) return exchange.run(/*times=*/3);
    exchange.run();
    BOOST_REQUIRE(exchange.complete() == exchange.size());
    const auto mean = floats_of(exchange.side(0).result());
    for (size_t i = 0; i < exchange.size(); ++i) {
      BOOST_TEST((exchange.side(i).result().view() == exchange.side(0).result().view()));
      if (!stage.residuals.empty()) take(i, exchange.side(i).residuals().value());
    }
    for (uint64_t e = 0; e < stage.n; ++e) {
      got[e] += static_cast<double>(mean[e]);
      for (const auto& sum : stage.sums)
        if (!sum.empty()) wanted[e] += static_cast<double>(sum[e]) / total();
    }
  }
  void take(size_t member, tensor::Residuals next) {
    const auto& before = stage.residuals[member].mean;
    dropped += tensor::norm_outside(before, next.mean.first, next.mean.count());
    stage.residuals[member] = std::move(next);
  }
  /// What the members have lost and not given back, in means.
  std::vector<double> owed() const {
    std::vector<double> all(stage.n);
    const auto add = [&all](const tensor::Residual& residual, double weight) {
      const auto values = floats_of(residual.values);
      for (size_t i = 0; i < values.size(); ++i)
        all[residual.first + i] += weight * static_cast<double>(values[i]);
    };
    for (const auto& one : stage.residuals) {
      add(one.contribution, 1 / total());
      add(one.mean, 1);
    }
    return all;
  }
};

std::vector<uint64_t> some_samples(size_t members) {
  std::vector<uint64_t> samples;
  for (size_t i = 0; i < members; ++i) samples.push_back((i * 5 + 1) % 4);  // some have none
  return samples;
}

BOOST_AUTO_TEST_SUITE(ResidualRoundsTest)

/// Of `rounds`, with some that are given up among them. `most`: of a mean that is missing.
void check_that_all_arrives(Rounds rounds, double most) {
  std::mt19937_64 random(rounds.stage.samples.size());
  for (uint64_t number = 0; number < 25; ++number) {
    rounds.stage.draw(number);
    while (random() % 3 == 0) rounds.round(random(), /*counts=*/false);
    rounds.round(random(), /*counts=*/true);
  }
  const auto owed = rounds.owed();
  size_t wrong = 0;
  double found = 0;
  for (uint64_t e = 0; e < rounds.stage.n; ++e) {
    const double missing = rounds.wanted[e] - rounds.got[e];
    wrong += std::abs(missing - owed[e]) > 1e-4 ? 1 : 0;
    found = std::max(found, std::abs(missing));
  }
  BOOST_TEST_CONTEXT(rounds.stage.samples.size()
                     << " members, " << kTopologyNames[size_t(rounds.setup.topology)] << ", codec "
                     << tensor::codec_info(rounds.setup.codec).name) {
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(rounds.dropped == 0);
    BOOST_TEST(found < most);
  }
}

BOOST_AUTO_TEST_CASE(over_many_rounds_all_arrives_but_what_the_members_hold) {
  for (const auto codec : testing::all_codecs())
    for (const auto topology : {Topology::kButterfly, Topology::kTwoLevel})
      for (const size_t members : {1, 2, 5, 17})
        check_that_all_arrives({topology, codec, some_samples(members), 3'000},
                               2 * testing::mean_tolerance(codec));  // it does not pile up
}

// In two levels that is so where there are not pieces enough for all groups; or the vector is too short for
// a part of each. What waits for its turn adds up, over as many members at most.
BOOST_AUTO_TEST_CASE(who_takes_turns_in_making_means_gives_back_in_its_turn) {
  for (const auto codec : testing::all_codecs())
    for (const auto topology : {Topology::kButterfly, Topology::kTwoLevel})
      for (const uint64_t n : {100, 700, 3'000})
        check_that_all_arrives({topology, codec, some_samples(17), n, /*min_part=*/64},
                               17 * testing::mean_tolerance(codec));
}

// Beside members that trained it counts for nothing, and what it gave back would be gone.
BOOST_AUTO_TEST_CASE(who_has_not_trained_since_the_last_average_keeps_what_it_lost) {
  for (const auto topology : {Topology::kButterfly, Topology::kTwoLevel}) {
    Rounds rounds(topology, tensor::Codec::kInt8Linear, std::vector<uint64_t>(6, 1), 300);
    rounds.stage.trained.assign(6, {4, Round(1)});
    rounds.stage.draw(1);
    rounds.round(1, /*counts=*/true);
    const auto before = rounds.stage.residuals;
    BOOST_REQUIRE(tensor::norm(before[0].contribution) > 0);
    rounds.stage.trained[0].samples = 0;
    rounds.round(2, /*counts=*/true);
    const auto same = [&](size_t member) {
      return rounds.stage.residuals[member].contribution.values.view() ==
             before[member].contribution.values.view();
    };
    BOOST_TEST(same(0));
    BOOST_TEST(!same(1));
  }
}

/// The same sums in each round; the first element of each block is a hundred times the others.
double share_that_arrives(bool feedback) {
  Rounds rounds(Topology::kButterfly, tensor::Codec::kInt4, {1, 1, 1, 1}, 640);
  if (!feedback) rounds.stage.residuals.clear();
  rounds.stage.sums.assign(4, std::vector<float>(640, 0.01f));
  for (auto& sum : rounds.stage.sums)
    for (size_t e = 0; e < sum.size(); e += 8) sum[e] = 1;
  for (uint64_t number = 0; number < 200; ++number) rounds.round(number, /*counts=*/true);
  double wanted = 0, got = 0;
  for (size_t e = 0; e < 640; ++e) {
    if (e % 8 == 0) continue;
    wanted += rounds.wanted[e];
    got += rounds.got[e];
  }
  return got / wanted;
}

BOOST_AUTO_TEST_CASE(what_is_smaller_than_half_a_step_of_the_code_arrives_all_the_same) {
  BOOST_TEST(share_that_arrives(/*feedback=*/false) == 0);
  BOOST_TEST(share_that_arrives(/*feedback=*/true) == 1, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(without_a_codec_nothing_is_lost_and_nothing_kept) {
  Rounds rounds(Topology::kButterfly, tensor::Codec::kNone, {3, 1, 2}, 100);
  rounds.stage.draw(1);
  rounds.round(1, /*counts=*/true);
  for (const auto& one : rounds.stage.residuals) {
    BOOST_TEST(one.contribution.values.empty());
    BOOST_TEST(one.mean.values.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
