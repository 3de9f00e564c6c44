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

/// A member's rounds, of elements [first, first + count).
struct Member {
  uint64_t first = 0, count = 0;
  Residual lost{};

  ErrorFeedback round() const { return {first, count, lost}; }
  /// One that counts, of all elements.
  Values sends(const Values& values, Codec codec) {
    auto feedback = round();
    const Values arrived = sent(feedback, first, values, codec);
    lost = feedback.next();
    return arrived;
  }
};

/// After so many rounds, of which those that `gives_up` says were given up and done again.
struct Story {
  Values wanted, got;  // sums over rounds that counted
  Values residual;
};
template <class GivesUp>
Story story(Codec codec, uint64_t n, int rounds, GivesUp gives_up) {
  Member member{0, n};
  Story out{Values(n), Values(n), {}};
  for (int number = 0; number < rounds; ++number) {
    if (gives_up(number)) {
      auto round = member.round();
      sent(round, 0, normal(n, 1000 + static_cast<uint64_t>(number)), codec);
      round.next();
    }
    const Values values = normal(n, static_cast<uint64_t>(number));
    const Values arrived = member.sends(values, codec);
    for (uint64_t i = 0; i < n; ++i) {
      out.wanted[i] += values[i];
      out.got[i] += arrived[i];
    }
  }
  out.residual = floats_of(member.lost.values);
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
  Member member{0, 2};
  float arrived = 0;
  for (int round = 0; round < 100; ++round) arrived += member.sends(values, Codec::kInt4)[1];
  BOOST_TEST(std::abs(arrived - 1) <= 0.5f / 7 + 1e-4f);
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

BOOST_AUTO_TEST_CASE(a_repetition_gives_the_same_bytes_and_changes_nothing) {
  Member once{0, 100}, twice{0, 100};
  for (uint64_t number = 0; number < 5; ++number) {
    const Values values = normal(100, number);
    auto one = once.round(), two = twice.round();
    const auto other = one.encode(0, values.data(), 100, Codec::kInt8);
    const auto first = two.encode(0, values.data(), 100, Codec::kInt8);
    const auto second = two.encode(0, values.data(), 100, Codec::kInt8);
    once.lost = one.next();
    twice.lost = two.next();
    const auto late = two.encode(0, values.data(), 100, Codec::kInt8);  // asked again afterwards
    for (const auto& same : {second, other, late})
      BOOST_TEST((first.data.view() == same.data.view()));
    BOOST_TEST((once.lost.values.view() == twice.lost.values.view()));
  }
}

BOOST_AUTO_TEST_CASE(what_the_others_decode_is_told_in_place) {
  for (const Codec codec : testing::all_codecs()) {
    Member told{7, 300}, asked{7, 300};
    for (uint64_t number = 0; number < 3; ++number) {
      Values values = normal(300, number);
      const Values arrived = asked.sends(values, codec);
      auto round = told.round();
      round.encode(7, values.data(), 300, codec, values.data());
      told.lost = round.next();
      BOOST_TEST(values == arrived, codec_info(codec).name);
    }
  }
}

BOOST_AUTO_TEST_CASE(chunks_and_gaps_keep_their_own_residuals) {
  Member member{1000, 90};
  const Values values = normal(90, 1);
  const Values front(values.begin(), values.begin() + 30), back(values.begin() + 60, values.end());
  auto round = member.round();
  sent(round, 1000, front, Codec::kInt4);
  sent(round, 1060, back, Codec::kInt4);
  member.lost = round.next();
  const Values before = floats_of(member.lost.values);
  for (size_t i = 30; i < 60; ++i) BOOST_TEST(before[i] == 0);
  auto next = member.round();  // in which the back is not asked for
  sent(next, 1000, front, Codec::kInt4);
  const Values after = floats_of(next.next().values);
  for (size_t i = 60; i < 90; ++i) BOOST_TEST(after[i] == before[i]);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_encoded_take_all_that_was_lost) {
  Member member{0, 3};
  const Values values = {1, 0.3f, -0.4f};
  member.sends(values, Codec::kInt4);
  const Values before = floats_of(member.lost.values);
  BOOST_REQUIRE(before.size() == 3u);
  auto round = member.round();
  Values out = values;
  round.add(0, out.data(), 3, out.data());
  for (size_t i = 0; i < 3; ++i) BOOST_TEST(out[i] == values[i] + before[i]);
  BOOST_TEST(norm(round.next()) == 0);
}

// A peer that is alone in its stage encodes nothing of its own: it holds no zeros.
BOOST_AUTO_TEST_CASE(where_nothing_was_ever_lost_nothing_is_held) {
  Member member{0, 4};
  Values values = normal(4, 1);
  auto round = member.round();
  round.add(0, values.data(), 2, values.data());
  BOOST_TEST(round.next().values.empty());
  auto both = member.round();  // the second half is encoded
  both.add(0, values.data(), 2, values.data());
  both.encode(2, values.data() + 2, 2, Codec::kInt4);
  const Values lost = floats_of(both.next().values);
  BOOST_REQUIRE(lost.size() == 4u);
  BOOST_TEST(lost[0] == 0);
  BOOST_TEST(lost[1] == 0);
}

BOOST_AUTO_TEST_CASE(of_another_part_what_both_have_stays_and_the_rest_can_be_told) {
  Member member{10, 6};
  member.sends(normal(6, 1), Codec::kInt4);
  const Values lost = floats_of(member.lost.values);
  const auto outside = [&](size_t from, size_t to) {
    double sum = 0;
    for (size_t i = 0; i < 6; ++i) sum += i < from || i >= to ? double{lost[i]} * lost[i] : 0;
    return std::sqrt(sum);
  };
  const auto near = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(norm(member.lost) == outside(6, 6), near);
  BOOST_TEST(norm_outside(member.lost, 10, 6) == 0);
  BOOST_TEST(norm_outside(member.lost, 0, 100) == 0);
  BOOST_TEST(norm_outside(member.lost, 12, 2) == outside(2, 4), near);
  BOOST_TEST(norm_outside(member.lost, 0, 12) == outside(0, 2), near);
  BOOST_TEST(norm_outside(member.lost, 13, 90) == outside(3, 6), near);
  BOOST_TEST(norm_outside(member.lost, 0, 10) == outside(6, 6), near);
  BOOST_TEST(norm_outside(member.lost, 16, 4) == outside(6, 6), near);

  ErrorFeedback moved(13, 5, member.lost);
  const Residual now = moved.next();
  BOOST_TEST(now.first == 13u);
  const Values kept = floats_of(now.values);
  BOOST_TEST((kept == Values{lost[3], lost[4], lost[5], 0, 0}));
  BOOST_TEST(norm(ErrorFeedback(20, 0, member.lost).next()) == 0);
}

BOOST_AUTO_TEST_CASE(a_round_in_which_nothing_is_encoded_changes_nothing) {
  Member member{0, 50};
  BOOST_TEST(member.round().next().values.empty());
  member.sends(normal(50, 1), Codec::kInt8);
  BOOST_TEST((member.round().next().values.view() == member.lost.values.view()));
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_leaves_no_residual) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Codec codec : testing::all_codecs())
    for (const float bad : {inf, -inf, std::nanf("")}) {
      Member member{0, 3};
      member.sends({1, bad, 0.3f}, codec);
      for (const float x : floats_of(member.lost.values)) BOOST_TEST(std::isfinite(x));
    }
  Member member{0, 1};
  member.sends({1e6f}, Codec::kFp16);  // beyond what it reaches
  BOOST_TEST(norm(member.lost) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
