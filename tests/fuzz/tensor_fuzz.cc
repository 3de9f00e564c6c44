/// Any descriptor with any bytes: refused, or decoded to exactly the elements it claims.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tensor/core/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t meta_bytes = data[0] < size ? data[0] : size - 1;
  swarm::tensor::EncodedTensor tensor;
  if (!tensor.meta.ParseFromArray(data + 1, static_cast<int>(meta_bytes))) return 0;
  tensor.data = swarm::Buffer::from_string(
      std::string(reinterpret_cast<const char*>(data) + 1 + meta_bytes, size - 1 - meta_bytes));
  if (!swarm::tensor::check_tensor(tensor.meta, tensor.data.size()).ok()) return 0;
  const uint64_t elements = swarm::tensor::num_elements(tensor.meta);
  const auto decoded = swarm::tensor::decode_flat(tensor, elements);
  if (decoded.ok() && decoded.value().size() != elements * sizeof(float)) std::abort();
  return 0;
}
