#include "tensor/core/block_codecs.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tensor/core/codec.h"

namespace swarm::tensor {
namespace {

const Codec kBlockCodecs[] = {Codec::kInt8, Codec::kInt8Linear, Codec::kInt4};
const uint64_t kSizes[] = {1, 2, 3, 1023, 1024, 1025, 2047, 2048, 5001};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<uint8_t> encoded(Codec codec, const std::vector<float>& values) {
  std::vector<uint8_t> out(codec_info(codec).bytes(values.size()), 0xa5);
  codec_info(codec).encode(values.data(), values.size(), out.data());
  return out;
}

std::vector<float> decoded(Codec codec, const std::vector<uint8_t>& bytes, uint64_t n) {
  std::vector<float> out(n, kNaN);
  codec_info(codec).decode(bytes.data(), n, out.data());
  return out;
}

std::vector<float> there_and_back(Codec codec, const std::vector<float>& values) {
  return decoded(codec, encoded(codec, values), values.size());
}

std::vector<float> normal(uint64_t n, float scale) {
  std::mt19937 random(static_cast<uint32_t>(n));
  std::normal_distribution<float> draw;
  std::vector<float> values(n);
  for (float& value : values) value = draw(random) * scale;
  return values;
}

float largest_of(const std::vector<float>& values, size_t i) {
  const size_t begin = i / kCodecBlock * kCodecBlock;
  float largest = 0;
  for (size_t k = begin; k < std::min<size_t>(values.size(), begin + kCodecBlock); ++k)
    largest = std::max(largest, std::fabs(values[k]));
  return largest;
}

/// Half of the widest step around `ratio` of the scale.
double bound(Codec codec, double ratio) {
  if (codec == Codec::kInt4) return 0.5 / 7;
  if (codec == Codec::kInt8Linear) return 0.5 / 127;
  double below = 0;
  for (int k = 1; k < 128; ++k) {
    const double value = dynamic_value(static_cast<uint8_t>(k));
    if (value >= ratio) return (value - below) / 2;
    below = value;
  }
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(BlockCodecs)

BOOST_AUTO_TEST_CASE(sizes_are_scales_and_codes) {
  BOOST_TEST(int8_bytes(0) == 0u);
  BOOST_TEST(int4_bytes(0) == 0u);
  BOOST_TEST(int8_bytes(1) == 5u);
  BOOST_TEST(int4_bytes(3) == 6u);
  BOOST_TEST(int8_bytes(1025) == 1025u + 8);
  BOOST_TEST(int4_bytes(1025) == 513u + 8);
  BOOST_TEST(int8_bytes(1 << 20) < 1.01 * (1 << 20));
}

BOOST_AUTO_TEST_CASE(dynamic_values_rise_from_zero_to_one) {
  BOOST_TEST(dynamic_value(0) == 0.0f);
  BOOST_TEST(dynamic_value(1) == 1e-6f);
  BOOST_TEST(dynamic_value(127) == 1.0f);
  BOOST_TEST(dynamic_value(255) == -1.0f);
  for (int k = 1; k < 128; ++k)
    BOOST_TEST(dynamic_value(static_cast<uint8_t>(k)) > dynamic_value(static_cast<uint8_t>(k - 1)));
}

/// Against a search through all codes.
BOOST_AUTO_TEST_CASE(dynamic_codes_are_the_nearest) {
  std::vector<float> values = {1.0f};
  for (int k = 1; k < 128; ++k) {
    const float middle =
        (dynamic_value(static_cast<uint8_t>(k)) + dynamic_value(static_cast<uint8_t>(k - 1))) / 2;
    for (float x : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1.0f)})
      values.push_back(x);
  }
  for (int i = 0; i < 600; ++i) values.push_back(std::pow(10.0f, -static_cast<float>(i) / 80));
  const auto out = there_and_back(Codec::kInt8, values);
  for (size_t i = 0; i < kCodecBlock; ++i) {
    if (i >= values.size()) break;
    double best = 1;
    for (int k = 0; k < 128; ++k)
      best = std::min(best, std::abs(double(dynamic_value(static_cast<uint8_t>(k))) - values[i]));
    BOOST_TEST(std::abs(double(out[i]) - values[i]) == best);
  }
}

BOOST_AUTO_TEST_CASE(errors_are_at_most_half_a_step) {
  for (const Codec codec : kBlockCodecs)
    for (const uint64_t n : kSizes)
      for (const float scale : {1e-30f, 1e-3f, 1.0f, 1e30f}) {
        const auto values = normal(n, scale);
        const auto out = there_and_back(codec, values);
        size_t wrong = 0;
        for (size_t i = 0; i < n; ++i) {
          const double largest = largest_of(values, i);
          const double limit = bound(codec, std::fabs(values[i]) / largest) + 1e-6;
          wrong += std::abs(double(out[i]) - values[i]) <= limit * largest ? 0 : 1;
        }
        BOOST_TEST(wrong == 0u);
      }
}

BOOST_AUTO_TEST_CASE(what_was_decoded_encodes_to_the_same_bytes) {
  for (const Codec codec : kBlockCodecs)
    for (const uint64_t n : kSizes)
      for (const float scale : {1e-30f, 1.0f, 1e30f}) {
        const auto bytes = encoded(codec, normal(n, scale));
        BOOST_TEST((encoded(codec, decoded(codec, bytes, n)) == bytes));
      }
}

BOOST_AUTO_TEST_CASE(a_block_with_a_value_that_is_not_finite_is_nan_and_no_other) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Codec codec : kBlockCodecs)
    for (const float bad : {inf, -inf, kNaN}) {
      auto values = normal(2500, 1);
      values[1500] = bad;
      const auto out = there_and_back(codec, values);
      size_t wrong = 0;
      for (size_t i = 0; i < out.size(); ++i)
        wrong += std::isnan(out[i]) != (i / kCodecBlock == 1) ? 1 : 0;
      BOOST_TEST(wrong == 0u);
    }
}

BOOST_AUTO_TEST_CASE(zeros_and_denormals_stay_finite) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const Codec codec : kBlockCodecs) {
    for (const float x : there_and_back(codec, std::vector<float>(1027))) BOOST_TEST(x == 0.0f);
    const auto out = there_and_back(codec, {tiny, -tiny, 0, 1000 * tiny});
    BOOST_TEST(out[3] == 1000 * tiny);
    for (const float x : out) BOOST_TEST(std::isfinite(x));
  }
}

BOOST_AUTO_TEST_CASE(ties_go_to_the_even_code) {
  const auto eight = encoded(Codec::kInt8Linear, {127, 0.5f, 1.5f, -2.5f, -127});
  BOOST_TEST(int(int8_t(eight[4])) == 127);
  BOOST_TEST(int(eight[5]) == 0);
  BOOST_TEST(int(eight[6]) == 2);
  BOOST_TEST(int(int8_t(eight[7])) == -2);
  BOOST_TEST(int(int8_t(eight[8])) == -127);
}

BOOST_AUTO_TEST_CASE(any_bytes_decode) {
  std::mt19937 random(1);
  for (const Codec codec : kBlockCodecs)
    for (const uint64_t n : kSizes) {
      std::vector<uint8_t> bytes(codec_info(codec).bytes(n));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      BOOST_TEST(decoded(codec, bytes, n).size() == n);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
