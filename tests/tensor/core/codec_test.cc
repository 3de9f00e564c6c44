#include "tensor/core/codec.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace swarm::tensor {
namespace {

proto::Tensor meta(std::vector<int64_t> shape, proto::Codec codec = proto::CODEC_NONE,
                   proto::DType dtype = proto::DTYPE_FLOAT32) {
  proto::Tensor tensor;
  tensor.set_dtype(dtype);
  tensor.set_codec(codec);
  for (int64_t extent : shape) tensor.add_shape(extent);
  return tensor;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CheckTensor)

BOOST_AUTO_TEST_CASE(bytes_must_be_exactly_what_the_head_says) {
  BOOST_TEST(check_tensor(meta({2, 3}), 24).ok());
  BOOST_TEST((check_tensor(meta({2, 3}), 23).code() == ErrorCode::kShapeMismatch));
  BOOST_TEST((check_tensor(meta({2, 3}), 28).code() == ErrorCode::kShapeMismatch));
  BOOST_TEST(check_tensor(meta({2, 3}, proto::CODEC_FP16), 12).ok());
  BOOST_TEST(check_tensor(meta({2, 3}, proto::CODEC_NONE, proto::DTYPE_INT64), 48).ok());
}

BOOST_AUTO_TEST_CASE(extents_whose_product_overflows_are_refused) {
  const int64_t huge = int64_t{1} << 62;
  BOOST_TEST((check_tensor(meta({huge, 4}), 0).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(
      (check_tensor(meta({1 << 20, 1 << 20, 1 << 24}), 0).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(check_tensor(meta({kMaxTensorBytes / 4}), kMaxTensorBytes).ok());
  BOOST_TEST((check_tensor(meta({kMaxTensorBytes / 4 + 1}), kMaxTensorBytes + 4).code() ==
              ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(unlikely_heads_are_refused) {
  BOOST_TEST((check_tensor(meta({0}), 0).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST((check_tensor(meta({-1}), 0).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(check_tensor(meta(std::vector<int64_t>(8, 1)), 4).ok());
  BOOST_TEST(
      (check_tensor(meta(std::vector<int64_t>(9, 1)), 4).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(
      (check_tensor(meta({1}, proto::CODEC_UNSPECIFIED), 4).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST((check_tensor(meta({1}, static_cast<proto::Codec>(99)), 4).code() ==
              ErrorCode::kInvalidArgument));
  BOOST_TEST((check_tensor(meta({1}, proto::CODEC_NONE, proto::DTYPE_UNSPECIFIED), 4).code() ==
              ErrorCode::kInvalidArgument));
  BOOST_TEST((check_tensor(meta({1}, proto::CODEC_FP16, proto::DTYPE_INT32), 2).code() ==
              ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(Codecs)

BOOST_AUTO_TEST_CASE(every_half_survives_the_way_through_float) {
  int wrong = 0;
  for (uint32_t h = 0; h < 65536; ++h) {
    wrong += float_to_half(half_to_float(static_cast<uint16_t>(h))) != h;
    wrong += float_to_bfloat16(bfloat16_to_float(static_cast<uint16_t>(h))) != h;
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(halves_mean_what_ieee_says) {
  int wrong = 0;
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const int exponent = static_cast<int>(h >> 10), fraction = static_cast<int>(h & 1023);
    const double value =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    wrong += half_to_float(static_cast<uint16_t>(h)) != static_cast<float>(value);
    wrong += half_to_float(static_cast<uint16_t>(h | 0x8000)) != static_cast<float>(-value);
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(rounding_is_to_nearest_with_ties_to_even) {
  int wrong = 0;
  for (uint32_t h = 0; h + 1 < 0x7c00; ++h) {
    const float low = half_to_float(static_cast<uint16_t>(h));
    const float high = half_to_float(static_cast<uint16_t>(h + 1));
    const float middle = low + (high - low) / 2;  // exact
    const uint32_t even = h % 2 == 0 ? h : h + 1;
    wrong += float_to_half(middle) != even;
    wrong += float_to_half(std::nextafter(middle, low)) != h;
    wrong += float_to_half(std::nextafter(middle, high)) != h + 1;
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(float_to_half(65519.99f) == 0x7bff);
  BOOST_TEST(float_to_half(65520.0f) == 0x7c00);
  BOOST_TEST(float_to_bfloat16(1.00390625f) == 0x3f80);  // 1 + 2^-8: a tie, to even
  BOOST_TEST(float_to_bfloat16(1.01171875f) == 0x3f82);  // 1 + 3 * 2^-8: a tie, to even
}

BOOST_AUTO_TEST_CASE(infinity_and_nan_survive) {
  const float inf = std::numeric_limits<float>::infinity();
  float faint_nan;  // only the lowest payload bit: rounding must not make it an infinity
  const uint32_t bits = 0x7f800001;
  std::memcpy(&faint_nan, &bits, 4);
  for (Codec codec : {Codec::kNone, Codec::kFp16, Codec::kBf16}) {
    const float values[] = {inf, -inf, faint_nan, 1.5f, -0.0f};
    auto decoded = decode_flat(encode(values, {5}, codec), 5);
    BOOST_REQUIRE(decoded.ok());
    const auto* out = reinterpret_cast<const float*>(decoded->data());
    BOOST_TEST(out[0] == inf);
    BOOST_TEST(out[1] == -inf);
    BOOST_TEST(std::isnan(out[2]));
    BOOST_TEST(out[3] == 1.5f);
    BOOST_TEST(std::signbit(out[4]));
  }
}

BOOST_AUTO_TEST_CASE(loops_agree_with_single_values) {
  std::vector<float> values;
  for (int i = 0; i < 1003; ++i) values.push_back(std::ldexp(1.0f + i / 977.0f, i % 50 - 30));
  auto halves = encode(values.data(), {static_cast<int64_t>(values.size())}, Codec::kFp16);
  int wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, halves.data.data() + 2 * i, 2);
    wrong += half != float_to_half(values[i]);
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(codec_none_copies_nothing_unless_unaligned) {
  const float values[] = {1, 2, 3};
  EncodedTensor tensor = encode(values, {3}, Codec::kNone);
  BOOST_TEST(decode_flat(tensor, 3)->data() == tensor.data.data());
  MutableBuffer shifted = MutableBuffer::allocate(13);
  std::memcpy(shifted.data() + 1, values, 12);
  tensor.data = shifted.freeze().slice(1, 12);
  auto decoded = decode_flat(tensor, 3);
  BOOST_REQUIRE(decoded.ok());
  BOOST_TEST(reinterpret_cast<const float*>(decoded->data())[2] == 3.0f);
}

BOOST_AUTO_TEST_CASE(decoding_refuses_other_sizes_and_types) {
  const float values[] = {1, 2, 3};
  EncodedTensor tensor = encode(values, {3}, Codec::kNone);
  BOOST_TEST((decode_flat(tensor, 4).code() == ErrorCode::kShapeMismatch));
  tensor.meta.set_dtype(proto::DTYPE_INT32);
  BOOST_TEST((decode_flat(tensor, 3).code() == ErrorCode::kShapeMismatch));
}

BOOST_AUTO_TEST_CASE(rows_stand_where_their_names_say) {
  BOOST_TEST(codec_info(Codec::kNone).name == "none");
  BOOST_TEST(codec_info(Codec::kFp16).name == "fp16");
  BOOST_TEST(codec_info(Codec::kBf16).name == "bf16");
  BOOST_TEST(codec_info(Codec::kInt8).name == "int8");
  BOOST_TEST(codec_info(Codec::kInt8Linear).name == "int8_linear");
  BOOST_TEST(codec_info(Codec::kInt4).name == "int4");
}

/// Whatever rows the table has.
BOOST_AUTO_TEST_CASE(every_row_reads_what_it_writes_under_its_own_number) {
  const std::vector<float> values = {1, -2, 0.5f, 0, 3, -1, 2};
  const auto names = codec_names();
  for (size_t row = 0; row < names.size(); ++row) {
    const auto codec = static_cast<Codec>(row);
    const CodecInfo& info = codec_info(codec);
    BOOST_TEST(info.name == names[row]);
    BOOST_TEST(find_codec(info.id) == &info);  // no other row has its number
    const auto tensor = encode(values.data(), {7}, codec);
    BOOST_TEST(tensor.data.size() == info.bytes(7));
    auto decoded = decode_flat(tensor, 7);
    BOOST_REQUIRE(decoded.ok());
    for (size_t i = 0; i < 7; ++i) {
      float value;
      std::memcpy(&value, decoded->data() + i * sizeof value, sizeof value);
      BOOST_TEST(std::abs(value - values[i]) <= (codec == Codec::kInt4 ? 3.01f / 14 : 0.05f));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
