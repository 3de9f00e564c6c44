/// Tensors as they travel: checks of what a stranger claims, and the codecs none, fp16 and bf16.
///
/// Pure and thread-safe. Rounding is to nearest, ties to even; infinities and NaN survive.
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

/// "none", "fp16" or "bf16". Errors: kInvalidArgument.
Result<proto::Codec> parse_codec(const std::string& name);

/// Are `byte_count` bytes exactly what dtype, shape and codec of `meta` say? Allocates nothing
/// unless it fails. A lossy codec needs float32. A tensor of no dimensions has one element.
/// Errors: kShapeMismatch (byte count), kInvalidArgument (unknown type or codec, more than 8
/// dimensions, an extent below 1, larger than kMaxTensorBytes).
Status check_tensor(const proto::Tensor& meta, uint64_t byte_count);

/// Elements of a tensor that passed check_tensor().
uint64_t num_elements(const proto::Tensor& meta);

/// float32 values of any shape -> what travels. `values` holds the product of `shape` elements.
/// Codec none copies; the Buffer form shares. Requires a codec that parse_codec can return.
EncodedTensor encode(const float* values, const std::vector<int64_t>& shape, proto::Codec codec);
EncodedTensor encode(const Buffer& values, const std::vector<int64_t>& shape, proto::Codec codec);

/// encode() with shape [n].
EncodedTensor encode_flat(const float* values, uint64_t n, proto::Codec codec);

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
