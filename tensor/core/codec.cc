#include "tensor/core/codec.h"

#include <cstring>

#include "common/check.h"
#include "tensor/core/clones.h"

namespace swarm::tensor {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors travel in memory order");

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// All cases are computed and one is selected, so that the loops below become vector code.
inline uint16_t to_half(uint32_t bits) {
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  // Adding 0.5 lets the FPU round at 2^-24, the unit of half's subnormal numbers.
  uint32_t tiny = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
  uint32_t payload = (magnitude >> 13) & 0x3ff;
  uint32_t nan = 0x7c00 | (payload == 0 ? 0x200 : payload);
  uint32_t half = magnitude < 0x38800000 ? tiny : normal;
  half = magnitude >= 0x477ff000 ? 0x7c00 : half;
  half = magnitude > 0x7f800000 ? nan : half;
  return static_cast<uint16_t>(sign | half);
}

inline uint32_t from_half(uint32_t half) {
  uint32_t sign = (half & 0x8000) << 16;
  uint32_t shifted = (half & 0x7fff) << 13;
  uint32_t normal = shifted + 0x38000000;
  uint32_t tiny = bits_of(float_of(shifted + 0x38800000) - float_of(0x38800000));
  uint32_t special = shifted | 0x7f800000;
  uint32_t bits = shifted < (0x400u << 13) ? tiny : normal;
  bits = shifted >= (0x7c00u << 13) ? special : bits;
  return sign | bits;
}

inline uint16_t to_bfloat16(uint32_t bits) {
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t cut = bits >> 16;
  uint32_t nan = (cut & 0x7f) == 0 ? cut | 0x40 : cut;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

SWARM_CLONES void encode_half(const uint32_t* __restrict in, uint16_t* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = to_half(in[i]);
}
SWARM_CLONES void decode_half(const uint16_t* __restrict in, uint32_t* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = from_half(in[i]);
}
SWARM_CLONES void encode_bfloat16(const uint32_t* __restrict in, uint16_t* __restrict out,
                                  size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = to_bfloat16(in[i]);
}
SWARM_CLONES void decode_bfloat16(const uint16_t* __restrict in, uint32_t* __restrict out,
                                  size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint32_t>(in[i]) << 16;
}

uint64_t dtype_bytes(proto::DType dtype) {
  switch (dtype) {
    case proto::DTYPE_FLOAT32:
    case proto::DTYPE_INT32:
      return 4;
    case proto::DTYPE_FLOAT16:
    case proto::DTYPE_BFLOAT16:
      return 2;
    case proto::DTYPE_INT64:
      return 8;
    default:
      return 0;
  }
}

Error invalid(std::string text) { return {ErrorCode::kInvalidArgument, std::move(text), 0}; }

bool aligned(const void* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

EncodedTensor describe(const std::vector<int64_t>& shape, proto::Codec codec, Buffer data) {
  EncodedTensor tensor;
  tensor.meta.set_dtype(proto::DTYPE_FLOAT32);
  for (int64_t extent : shape) tensor.meta.add_shape(extent);
  tensor.meta.set_codec(codec);
  tensor.data = std::move(data);
  return tensor;
}

size_t product(const std::vector<int64_t>& shape) {
  size_t n = 1;
  for (int64_t extent : shape) n *= static_cast<size_t>(extent);
  return n;
}

Buffer encode_bytes(const float* values, size_t n, proto::Codec codec) {
  if (codec == proto::CODEC_NONE) {
    MutableBuffer out = MutableBuffer::allocate(n * sizeof(float));
    if (n > 0) std::memcpy(out.data(), values, n * sizeof(float));
    return out.freeze();
  }
  SWARM_CHECK(codec == proto::CODEC_FP16 || codec == proto::CODEC_BF16);
  MutableBuffer out = MutableBuffer::allocate(n * sizeof(uint16_t));
  const auto* in = reinterpret_cast<const uint32_t*>(values);
  auto* halves = reinterpret_cast<uint16_t*>(out.data());
  codec == proto::CODEC_FP16 ? encode_half(in, halves, n) : encode_bfloat16(in, halves, n);
  return out.freeze();
}

Buffer align_copy(const Buffer& bytes, size_t alignment) {
  if (aligned(bytes.data(), alignment)) return bytes;
  MutableBuffer copy = MutableBuffer::allocate(bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy.freeze();
}

}  // namespace

Result<proto::Codec> parse_codec(const std::string& name) {
  if (name == "none") return proto::CODEC_NONE;
  if (name == "fp16") return proto::CODEC_FP16;
  if (name == "bf16") return proto::CODEC_BF16;
  return invalid("codec: must be none, fp16 or bf16 (got \"" + name + "\")");
}

Status check_tensor(const proto::Tensor& meta, uint64_t byte_count) {
  uint64_t unit = dtype_bytes(meta.dtype());
  if (unit == 0) return invalid("tensor: unknown dtype " + std::to_string(meta.dtype()));
  if (meta.shape_size() > kMaxTensorDims) {
    return invalid("tensor: at most 8 dimensions (got " + std::to_string(meta.shape_size()) + ")");
  }
  bool lossy = meta.codec() == proto::CODEC_FP16 || meta.codec() == proto::CODEC_BF16;
  if (!lossy && meta.codec() != proto::CODEC_NONE) {
    return invalid("tensor: unknown codec " + std::to_string(meta.codec()));
  }
  if (lossy && meta.dtype() != proto::DTYPE_FLOAT32) {
    return invalid("tensor: codecs fp16 and bf16 need dtype float32");
  }
  uint64_t elements = 1;
  const uint64_t limit = kMaxTensorBytes / unit;
  for (int64_t extent : meta.shape()) {
    if (extent < 1) {
      return invalid("tensor: extents must be at least 1 (got " + std::to_string(extent) + ")");
    }
    if (static_cast<uint64_t>(extent) > limit / elements) {
      return invalid("tensor: larger than " + std::to_string(kMaxTensorBytes) + " bytes");
    }
    elements *= static_cast<uint64_t>(extent);
  }
  uint64_t expected = elements * (lossy ? 2 : unit);
  if (byte_count == expected) return {};
  return Error{ErrorCode::kShapeMismatch,
               "tensor: shape, dtype and codec say " + std::to_string(expected) +
                   " bytes, but there are " + std::to_string(byte_count),
               0};
}

uint64_t num_elements(const proto::Tensor& meta) {
  uint64_t elements = 1;
  for (int64_t extent : meta.shape()) elements *= static_cast<uint64_t>(extent);
  return elements;
}

EncodedTensor encode(const float* values, const std::vector<int64_t>& shape, proto::Codec codec) {
  return describe(shape, codec, encode_bytes(values, product(shape), codec));
}

EncodedTensor encode(const Buffer& values, const std::vector<int64_t>& shape, proto::Codec codec) {
  SWARM_CHECK(values.size() == product(shape) * sizeof(float));
  if (codec == proto::CODEC_NONE) return describe(shape, codec, values);
  return encode(reinterpret_cast<const float*>(values.data()), shape, codec);
}

EncodedTensor encode_flat(const float* values, uint64_t n, proto::Codec codec) {
  return encode(values, {static_cast<int64_t>(n)}, codec);
}

Result<Buffer> decode_flat(const EncodedTensor& tensor, uint64_t expected_n) {
  if (Status status = check_tensor(tensor.meta, tensor.data.size()); !status) return status.error();
  if (tensor.meta.dtype() != proto::DTYPE_FLOAT32) {
    return Error{ErrorCode::kShapeMismatch, "tensor: dtype must be float32", 0};
  }
  uint64_t n = num_elements(tensor.meta);
  if (n != expected_n) {
    return Error{ErrorCode::kShapeMismatch,
                 "tensor: expected " + std::to_string(expected_n) + " elements (got " +
                     std::to_string(n) + ")",
                 0};
  }
  if (tensor.meta.codec() == proto::CODEC_NONE) return align_copy(tensor.data, alignof(float));
  Buffer bytes = align_copy(tensor.data, alignof(uint16_t));
  MutableBuffer out = MutableBuffer::allocate(n * sizeof(float));
  const auto* in = reinterpret_cast<const uint16_t*>(bytes.data());
  auto* values = reinterpret_cast<uint32_t*>(out.data());
  tensor.meta.codec() == proto::CODEC_FP16 ? decode_half(in, values, n)
                                           : decode_bfloat16(in, values, n);
  return out.freeze();
}

uint16_t float_to_half(float value) { return to_half(bits_of(value)); }
float half_to_float(uint16_t half) { return float_of(from_half(half)); }
uint16_t float_to_bfloat16(float value) { return to_bfloat16(bits_of(value)); }
float bfloat16_to_float(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

}  // namespace swarm::tensor
