/// Tensors in transit: checks of untrusted tensors, and the table of codecs.
///
/// A new codec is a number in proto/swarm/tensor.proto and a row in tensor/core/codecs.cc.
///
/// Pure and thread-safe. fp16 and bf16 round to nearest, ties to even; infinities and NaN survive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "swarm/tensor.pb.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"

namespace swarm::tensor {

constexpr int kMaxTensorDims = 8;

/// A row of the table. The functions are pure; memory is aligned for float and does not overlap.
struct CodecInfo {
  const char* name;  ///< In the configuration.
  proto::Codec id;   ///< On the wire; CODEC_NONE stands for the elements themselves, of any dtype.
  /// What n float32 values take when encoded.
  uint64_t (*bytes)(uint64_t n);
  /// in [n] -> out [bytes(n)]. n >= 1.
  void (*encode)(const float* in, uint64_t n, uint8_t* out);
  /// in [bytes(n)] -> out [n]. Any bytes decode to some values, since they are untrusted.
  void (*decode)(const uint8_t* in, uint64_t n, float* out);
};
/// Requires a codec that is a row of the table.
const CodecInfo& codec_info(Codec codec);
/// The row with this number on the wire; null if there is none.
const CodecInfo* find_codec(proto::Codec id);

/// Are `byte_count` bytes exactly what dtype, shape and codec of `meta` say? Allocates nothing
/// unless it fails. Any codec but none needs float32. A tensor of no dimensions has one element.
/// Errors: kShapeMismatch (byte count), kInvalidArgument (unknown type or codec, more than 8
/// dimensions, an extent below 1, larger than kMaxTensorBytes).
Status check_tensor(const proto::Tensor& meta, uint64_t byte_count);

/// Elements of a tensor that passed check_tensor().
uint64_t num_elements(const proto::Tensor& meta);

/// float32 values of any shape -> what travels. `values` holds the product of `shape` elements.
/// Codec none copies; the Buffer form shares.
EncodedTensor encode(const float* values, const std::vector<int64_t>& shape, Codec codec);
EncodedTensor encode(const Buffer& values, const std::vector<int64_t>& shape, Codec codec);

/// float32 values of a tensor of any shape with `expected_n` elements, aligned for float. Copies
/// nothing for codec none (unless a frame left the bytes unaligned).
/// Errors: as check_tensor(); kShapeMismatch also if elements or dtype are not as expected.
Result<Buffer> decode_flat(const EncodedTensor& tensor, uint64_t expected_n);

/// One value at a time, for tests and tools.
uint16_t float_to_half(float value);
float half_to_float(uint16_t half);
uint16_t float_to_bfloat16(float value);
float bfloat16_to_float(uint16_t bits);

}  // namespace swarm::tensor
