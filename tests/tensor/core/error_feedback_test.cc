#include "tensor/core/error_feedback.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/core/codec.h"
#include "tests/support/codecs.h"

namespace swarm::tensor {
namespace {

using Values = std::vector<float>;

Values normal(uint64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> draw;
  Values values(n);
  for (float& value : values) value = draw(random);
  return values;
}

Values floats_of(const Buffer& buffer) {
  Values values(buffer.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

Values sent(ErrorFeedback& feedback, uint64_t first, const Values& values, Codec codec) {
  const auto encoded = feedback.encode(first, values.data(), values.size(), codec);
  return floats_of(decode_flat(encoded, values.size()).value());
}

ErrorFeedback covering(uint64_t first, uint64_t count) {
  ErrorFeedback feedback;
  BOOST_TEST(!feedback.cover(first, count));
  return feedback;
}

/// After so many rounds, of which those that `gives_up` says were given up and done again.
struct Story {
  Values wanted, got;  // sums over rounds that counted
  Values residual;
};
template <class GivesUp>
Story story(Codec codec, uint64_t n, int rounds, GivesUp gives_up) {
  auto feedback = covering(0, n);
  Story out{Values(n), Values(n), {}};
  for (int round = 0; round < rounds; ++round) {
    if (gives_up(round)) {
      sent(feedback, 0, normal(n, 1000 + static_cast<uint64_t>(round)), codec);
      feedback.give_up();
    }
    const Values values = normal(n, static_cast<uint64_t>(round));
    const Values arrived = sent(feedback, 0, values, codec);
    feedback.keep();
    for (uint64_t i = 0; i < n; ++i) {
      out.wanted[i] += values[i];
      out.got[i] += arrived[i];
    }
  }
  out.residual = floats_of(feedback.residual());
  out.residual.resize(n);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ErrorFeedbackTest)

BOOST_AUTO_TEST_CASE(over_many_rounds_nothing_is_lost_but_the_last_residual) {
  for (const Codec codec : testing::all_codecs()) {
    const auto after = story(codec, 1500, 50, [](int) { return false; });
    size_t wrong = 0;
    for (size_t i = 0; i < after.got.size(); ++i)  // 50 additions of float32 on either side
      wrong += std::abs(after.wanted[i] - after.got[i] - after.residual[i]) > 2e-4f ? 1 : 0;
    BOOST_TEST(wrong == 0u, codec_info(codec).name);
    for (const float x : after.residual) BOOST_REQUIRE(std::abs(x) < 0.5f);  // does not pile up
  }
}

BOOST_AUTO_TEST_CASE(what_is_too_small_for_a_code_arrives_in_the_end) {
  const Values values = {1, 0.01f};  // 0.01 is no step of int4
  auto feedback = covering(0, 2);
  float arrived = 0;
  for (int round = 0; round < 100; ++round) {
    arrived += sent(feedback, 0, values, Codec::kInt4)[1];
    feedback.keep();
  }
  BOOST_TEST(std::abs(arrived - 1) <= 0.5f / 7 + 1e-4f);
  BOOST_TEST(decode_flat(encode(values.data(), {2}, Codec::kInt4), 2).ok());
  BOOST_TEST(floats_of(*decode_flat(encode(values.data(), {2}, Codec::kInt4), 2))[1] == 0);
}

BOOST_AUTO_TEST_CASE(a_round_that_was_given_up_leaves_no_trace) {
  std::mt19937_64 random(3);
  for (const Codec codec : testing::all_codecs()) {
    const auto quiet = story(codec, 300, 20, [](int) { return false; });
    const auto stormy = story(codec, 300, 20, [&](int) { return random() % 2 == 0; });
    BOOST_TEST(quiet.got == stormy.got, codec_info(codec).name);
    BOOST_TEST(quiet.residual == stormy.residual, codec_info(codec).name);
  }
}

BOOST_AUTO_TEST_CASE(a_repetition_within_a_round_gives_the_same_bytes_and_changes_nothing) {
  auto once = covering(0, 100), twice = covering(0, 100);
  for (uint64_t round = 0; round < 5; ++round) {
    const Values values = normal(100, round);
    const auto first = twice.encode(0, values.data(), 100, Codec::kInt8);
    const auto second = twice.encode(0, values.data(), 100, Codec::kInt8);
    const auto other = once.encode(0, values.data(), 100, Codec::kInt8);
    BOOST_TEST((first.data.view() == second.data.view()));
    BOOST_TEST((first.data.view() == other.data.view()));
    once.keep();
    twice.keep();
  }
  BOOST_TEST((once.residual().view() == twice.residual().view()));
}

BOOST_AUTO_TEST_CASE(chunks_and_gaps_keep_their_own_residuals) {
  auto feedback = covering(1000, 90);
  const Values values = normal(90, 1);
  const Values front(values.begin(), values.begin() + 30), back(values.begin() + 60, values.end());
  sent(feedback, 1000, front, Codec::kInt4);
  sent(feedback, 1060, back, Codec::kInt4);
  feedback.keep();
  const Values before = floats_of(feedback.residual());
  for (size_t i = 30; i < 60; ++i) BOOST_TEST(before[i] == 0);
  sent(feedback, 1000, front, Codec::kInt4);  // a round in which the back was not asked for
  feedback.keep();
  const Values after = floats_of(feedback.residual());
  for (size_t i = 60; i < 90; ++i) BOOST_TEST(after[i] == before[i]);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_encoded_take_all_that_was_kept) {
  auto feedback = covering(0, 3);
  const Values values = {1, 0.3f, -0.4f};
  sent(feedback, 0, values, Codec::kInt4);
  feedback.keep();
  const Values before = floats_of(feedback.residual());
  BOOST_REQUIRE(before.size() == 3u);
  Values out = values;
  feedback.add(0, out.data(), 3, out.data());
  for (size_t i = 0; i < 3; ++i) BOOST_TEST(out[i] == values[i] + before[i]);
  feedback.keep();
  BOOST_TEST(feedback.residual().empty());
}

BOOST_AUTO_TEST_CASE(another_part_drops_the_residual_and_says_so) {
  auto feedback = covering(0, 3);
  BOOST_TEST(!feedback.cover(3, 3));  // nothing was lost yet
  sent(feedback, 3, {1, 0.3f, -0.4f}, Codec::kInt4);
  BOOST_TEST(!feedback.cover(3, 3));  // the same: the round goes on
  feedback.keep();
  BOOST_TEST(!feedback.residual().empty());
  BOOST_TEST(feedback.cover(3, 2));
  BOOST_TEST(feedback.residual().empty());
  BOOST_TEST(!feedback.cover(0, 3));
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_leaves_no_residual) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Codec codec : testing::all_codecs())
    for (const float bad : {inf, -inf, std::nanf("")}) {
      auto feedback = covering(0, 3);
      sent(feedback, 0, {1, bad, 0.3f}, codec);
      feedback.keep();
      for (const float x : floats_of(feedback.residual())) BOOST_TEST(std::isfinite(x));
    }
  auto feedback = covering(0, 1);
  sent(feedback, 0, {1e6f}, Codec::kFp16);  // beyond what it reaches
  feedback.keep();
  BOOST_TEST(feedback.residual().empty());
}

BOOST_AUTO_TEST_CASE(what_stands_beside_a_snapshot_goes_on_with_the_same_bytes) {
  auto feedback = covering(0, 50), other = covering(0, 50);
  sent(feedback, 0, normal(50, 1), Codec::kInt8Linear);
  feedback.keep();
  sent(other, 0, normal(50, 9), Codec::kInt8Linear);  // an open round is given up
  BOOST_REQUIRE(other.restore(feedback.residual()).ok());
  const Values values = normal(50, 2);
  const auto one = feedback.encode(0, values.data(), 50, Codec::kInt8Linear);
  const auto two = other.encode(0, values.data(), 50, Codec::kInt8Linear);
  BOOST_TEST((one.data.view() == two.data.view()));
  BOOST_TEST(other.restore({}).ok());  // zeros: a newcomer
  BOOST_TEST(other.residual().empty());
}

BOOST_AUTO_TEST_CASE(a_residual_that_cannot_be_is_refused_and_nothing_changes) {
  auto feedback = covering(0, 2);
  sent(feedback, 0, {1, 0.3f}, Codec::kInt4);
  feedback.keep();
  const Buffer before = feedback.residual();
  BOOST_TEST((feedback.restore(Buffer::from_string(std::string(4, '\0'))).code() ==
              ErrorCode::kShapeMismatch));
  BOOST_TEST((feedback.restore(Buffer::from_string(std::string(8, '\xff'))).code() ==
              ErrorCode::kNonFinite));
  BOOST_TEST((feedback.residual().view() == before.view()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
