#include "tensor/core/codec.h"

#include <fmt/format.h>

#include <cstring>

#include "common/check.h"
#include "tensor/core/flat.h"

namespace swarm::tensor {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors travel in memory order");

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

EncodedTensor describe(const std::vector<int64_t>& shape, Codec codec, Buffer data) {
  EncodedTensor tensor;
  tensor.meta.set_dtype(proto::DTYPE_FLOAT32);
  for (int64_t extent : shape) tensor.meta.add_shape(extent);
  tensor.meta.set_codec(codec_info(codec).id);
  tensor.data = std::move(data);
  return tensor;
}

size_t product(const std::vector<int64_t>& shape) {
  size_t n = 1;
  for (int64_t extent : shape) n *= static_cast<size_t>(extent);
  return n;
}

}  // namespace

Status check_tensor(const proto::Tensor& meta, uint64_t byte_count) {
  uint64_t unit = dtype_bytes(meta.dtype());
  if (unit == 0)
    return invalid(fmt::format("tensor: unknown dtype {}", static_cast<int>(meta.dtype())));
  if (meta.shape_size() > kMaxTensorDims) {
    return invalid(
        fmt::format("tensor: at most {} dimensions (got {})", kMaxTensorDims, meta.shape_size()));
  }
  const CodecInfo* codec = find_codec(meta.codec());
  if (codec == nullptr)
    return invalid(fmt::format("tensor: unknown codec {}", static_cast<int>(meta.codec())));
  const bool plain = codec->id == proto::CODEC_NONE;
  if (!plain && meta.dtype() != proto::DTYPE_FLOAT32) {
    return invalid(fmt::format("tensor: codec {} needs dtype float32", codec->name));
  }
  uint64_t elements = 1;
  const uint64_t limit = kMaxTensorBytes / unit;
  for (int64_t extent : meta.shape()) {
    if (extent < 1) {
      return invalid(fmt::format("tensor: extents must be at least 1 (got {})", extent));
    }
    if (static_cast<uint64_t>(extent) > limit / elements) {
      return invalid(fmt::format("tensor: larger than {} bytes", kMaxTensorBytes));
    }
    elements *= static_cast<uint64_t>(extent);
  }
  uint64_t expected = plain ? elements * unit : codec->bytes(elements);
  if (byte_count == expected) return {};
  return Error{ErrorCode::kShapeMismatch,
               fmt::format("tensor: shape, dtype and codec say {} bytes, but there are {}",
                           expected, byte_count),
               0};
}

uint64_t num_elements(const proto::Tensor& meta) {
  uint64_t elements = 1;
  for (int64_t extent : meta.shape()) elements *= static_cast<uint64_t>(extent);
  return elements;
}

EncodedTensor encode(const float* values, const std::vector<int64_t>& shape, Codec codec) {
  const CodecInfo& info = codec_info(codec);
  const size_t n = product(shape);
  MutableBuffer out = MutableBuffer::allocate(info.bytes(n));
  if (n > 0) info.encode(values, n, out.data());
  return describe(shape, codec, out.freeze());
}

EncodedTensor encode(const Buffer& values, const std::vector<int64_t>& shape, Codec codec) {
  SWARM_CHECK(values.size() == product(shape) * sizeof(float));
  if (codec == Codec::kNone) return describe(shape, codec, values);
  return encode(reinterpret_cast<const float*>(values.data()), shape, codec);
}

Result<Buffer> decode_flat(const EncodedTensor& tensor, uint64_t expected_n) {
  if (Status status = check_tensor(tensor.meta, tensor.data.size()); !status) return status.error();
  if (tensor.meta.dtype() != proto::DTYPE_FLOAT32) {
    return Error{ErrorCode::kShapeMismatch, "tensor: dtype must be float32", 0};
  }
  uint64_t n = num_elements(tensor.meta);
  if (n != expected_n) {
    return Error{ErrorCode::kShapeMismatch,
                 fmt::format("tensor: expected {} elements (got {})", expected_n, n), 0};
  }
  const Buffer bytes = aligned_floats(tensor.data);
  if (tensor.meta.codec() == proto::CODEC_NONE) return bytes;
  MutableBuffer out = MutableBuffer::allocate(n * sizeof(float));
  find_codec(tensor.meta.codec())->decode(bytes.data(), n, reinterpret_cast<float*>(out.data()));
  return out.freeze();
}

}  // namespace swarm::tensor
