/// Parts of unequal lengths, and vectors that count by the samples behind them.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>
#include <random>

#include "tests/support/averagers.h"

namespace swarm::actors {
namespace {

using testing::Ask;
using testing::Outcome;
using testing::World;
using Values = std::vector<float>;

Buffer floats(const Values& values) {
  return Buffer::from_string(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

Values values_of(const Buffer& buffer) {
  Values values(buffer.size() / sizeof(float));
  std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

/// Four members of a small network.
struct Four : World {
  static constexpr uint64_t kElements = 1'000;

  Four() {
    add_many(4);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto& vector : vectors) {
      vector.resize(kElements);
      for (auto& x : vector) x = normal(random);
    }
  }
  AverageRound spec(uint32_t self) {
    AverageRound round;
    round.round = id;
    for (uint8_t i = 0; i < 4; ++i) {
      round.members.push_back(member(i, /*samples=*/1));
      round.members.back().part_weight = weights[i];
    }
    round.self = self;
    round.gradient = floats(vectors[self]);
    round.n = kElements;
    round.total_samples = 4;
    if (!trained.empty()) round.trained_on = trained[self];
    round.most_samples = most_samples;
    return round;
  }
  /// The mean, which all have with the same bits.
  Values run() {
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
    for (uint32_t i = 0; i < 4; ++i)
      asks.push_back(std::make_unique<Ask<AverageResult>>(*system, averagers[i],
                                                          average_atom::value, spec(i)));
    system.run();
    std::vector<Values> means;
    for (auto& ask : asks) {
      const auto outcome = ask->answer();
      BOOST_REQUIRE_MESSAGE(outcome.value, outcome.detail);
      means.push_back(values_of(outcome.value->mean));
      BOOST_TEST((means.back() == means.front()));
    }
    ++id;
    return means.front();
  }
  /// Of the mean where member i's vector has so much weight.
  double worst_error(const Values& mean, const std::vector<double>& parts) const {
    double worst = 0;
    for (uint64_t e = 0; e < kElements; ++e) {
      double right = 0;
      for (size_t i = 0; i < 4; ++i) right += parts[i] * static_cast<double>(vectors[i][e]);
      worst = std::max(worst, std::abs(right - static_cast<double>(mean[e])));
    }
    return worst;
  }

  Round id{1};
  Values vectors[4];
  std::vector<uint32_t> weights{1, 1, 1, 1};
  std::vector<TrainedOn> trained;
  uint64_t most_samples = 0;
};

constexpr double kRounding = 1e-6;

BOOST_FIXTURE_TEST_SUITE(AveragerWeights, Four)

BOOST_AUTO_TEST_CASE(parts_of_any_lengths_give_the_same_bits) {
  const Values equal = run();
  BOOST_TEST(worst_error(equal, {0.25, 0.25, 0.25, 0.25}) < kRounding);
  for (const auto& others : std::vector<std::vector<uint32_t>>{
           {5, 2, 0, 1}, {0, 0, 1, 0}, {300, 400, 324, 0}, {1, 65'536, 1, 1}}) {
    weights = others;
    BOOST_TEST((run() == equal));
  }
}

BOOST_AUTO_TEST_CASE(who_has_no_weight_reduces_nothing) {
  weights = {1, 1, 0, 1};
  const auto reduce =
      make_all_reduce({Topology::kButterfly, tensor::Codec::kNone, 100, 1}, spec(2));
  BOOST_TEST(reduce->requests_to(0) > 0u);
  const auto asks = make_all_reduce({Topology::kButterfly, tensor::Codec::kNone, 100, 1}, spec(0));
  BOOST_TEST(asks->requests_to(2) == 0u);
  BOOST_TEST(asks->requests_to(1) > 0u);
}

BOOST_AUTO_TEST_CASE(weights_that_are_none_are_refused) {
  google::protobuf::RepeatedField<uint32_t> told;
  auto members = spec(0).members;
  BOOST_TEST(add_part_weights(told, members).ok());  // all equal
  for (const uint32_t weight : {3u, 1u, 4u}) told.Add(weight);
  BOOST_TEST((add_part_weights(told, members).code() == ErrorCode::kInvalidArgument));
  told.Add(70'000);
  BOOST_TEST(add_part_weights(told, members).ok());
  AverageRound round = spec(0);
  round.members = members;
  BOOST_TEST((validate(round).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(vectors_count_by_samples_since_a_common_average) {
  trained = {{10, Round(3)}, {0, Round(3)}, {30, Round(3)}, {0, Round(3)}};
  BOOST_TEST(worst_error(run(), {0.25, 0, 0.75, 0}) < kRounding);
  trained[0].samples = 0;  // one alone: its own bits
  BOOST_TEST((run() == vectors[2]));
}

BOOST_AUTO_TEST_CASE(where_nobody_has_trained_all_count_equally) {
  const Values equal = run();
  trained = std::vector<TrainedOn>(4, {0, Round(3)});
  BOOST_TEST((run() == equal));
}

// One that took an average which another has missed holds both one's updates, trained on or not.
BOOST_AUTO_TEST_CASE(without_a_common_average_all_count_equally) {
  const Values equal = run();
  trained = {{10, Round(3)}, {0, Round(2)}, {30, Round(3)}, {0, Round(3)}};
  BOOST_TEST((run() == equal));
  trained = std::vector<TrainedOn>(4, {5, TrainedOn::kNotKnown});
  trained[2].samples = 50;
  BOOST_TEST((run() == equal));
}

// Its state came over a slow link, while the others went on: half of that was undone.
BOOST_AUTO_TEST_CASE(whose_state_came_from_elsewhere_counts_for_nothing_beside_those_that_agree) {
  trained = {{10, Round(3)}, {50, TrainedOn::kNotKnown}, {30, Round(3)}, {0, Round(3)}};
  BOOST_TEST(worst_error(run(), {0.25, 0, 0.75, 0}) < kRounding);
}

BOOST_AUTO_TEST_CASE(the_first_weights_are_a_common_start) {
  trained = {{8, {}}, {8, {}}, {16, {}}, {32, {}}};
  BOOST_TEST(worst_error(run(), {0.125, 0.125, 0.25, 0.5}) < kRounding);
}

BOOST_AUTO_TEST_CASE(nobody_counts_for_more_samples_than_there_were) {
  most_samples = 20;
  trained = {{~uint64_t{0}, Round(3)}, {20, Round(3)}, {20, Round(3)}, {20, Round(3)}};
  BOOST_TEST(worst_error(run(), {0.25, 0.25, 0.25, 0.25}) < kRounding);
}

BOOST_AUTO_TEST_CASE(two_numbers_in_one_round_are_refused) {
  trained = std::vector<TrainedOn>(4, {5, Round(3)});
  auto reduce = make_all_reduce({Topology::kButterfly, tensor::Codec::kNone, 50, 1}, spec(0));
  auto other = make_all_reduce({Topology::kButterfly, tensor::Codec::kNone, 50, 1}, spec(1));
  BOOST_REQUIRE(other->requests_to(0) > 1u);
  const auto first = other->request(0, 0);
  auto second = other->request(0, 1);
  BOOST_TEST(reduce->contribute(first.head, first.body).ok());
  second.head.set_samples(6);
  const auto refused = reduce->contribute(second.head, second.body);
  BOOST_TEST((refused.code() == ErrorCode::kInvalidArgument));
  second.head.set_samples(5);
  BOOST_TEST(reduce->contribute(second.head, second.body).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
