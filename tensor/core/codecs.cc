// The table of codecs, by Codec: append, never reorder.
#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "tensor/core/block_codecs.h"
#include "tensor/core/clones.h"
#include "tensor/core/codec.h"
#include "tensor/core/float_bits.h"

namespace swarm::tensor {
namespace {

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

uint64_t four_bytes(uint64_t n) { return n * sizeof(float); }
uint64_t two_bytes(uint64_t n) { return n * sizeof(uint16_t); }

const uint32_t* bits(const float* values) { return reinterpret_cast<const uint32_t*>(values); }
uint32_t* bits(float* values) { return reinterpret_cast<uint32_t*>(values); }
const uint16_t* halves(const uint8_t* bytes) { return reinterpret_cast<const uint16_t*>(bytes); }
uint16_t* halves(uint8_t* bytes) { return reinterpret_cast<uint16_t*>(bytes); }

const CodecInfo kRows[] = {
    {"none", proto::CODEC_NONE, four_bytes,
     [](const float* in, uint64_t n, uint8_t* out) { std::memcpy(out, in, n * sizeof(float)); },
     [](const uint8_t* in, uint64_t n, float* out) { std::memcpy(out, in, n * sizeof(float)); }},
    {"fp16", proto::CODEC_FP16, two_bytes,
     [](const float* in, uint64_t n, uint8_t* out) { encode_half(bits(in), halves(out), n); },
     [](const uint8_t* in, uint64_t n, float* out) { decode_half(halves(in), bits(out), n); }},
    {"bf16", proto::CODEC_BF16, two_bytes,
     [](const float* in, uint64_t n, uint8_t* out) { encode_bfloat16(bits(in), halves(out), n); },
     [](const uint8_t* in, uint64_t n, float* out) { decode_bfloat16(halves(in), bits(out), n); }},
    {"int8", proto::CODEC_INT8, int8_bytes, encode_int8, decode_int8},
    {"int8_linear", proto::CODEC_INT8_LINEAR, int8_bytes, encode_int8_linear, decode_int8_linear},
    {"int4", proto::CODEC_INT4, int4_bytes, encode_int4, decode_int4},
};

}  // namespace

const CodecInfo& codec_info(Codec codec) {
  const auto row = static_cast<size_t>(codec);
  SWARM_CHECK(row < std::size(kRows));
  return kRows[row];
}

const CodecInfo* find_codec(proto::Codec id) {
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows),
                                   [id](const CodecInfo& row) { return row.id == id; });
  return found == std::end(kRows) ? nullptr : found;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const CodecInfo& row : kRows) names.emplace_back(row.name);
  return names;
}

uint16_t float_to_half(float value) { return to_half(bits_of(value)); }
float half_to_float(uint16_t half) { return float_of(from_half(half)); }
uint16_t float_to_bfloat16(float value) { return to_bfloat16(bits_of(value)); }
float bfloat16_to_float(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

}  // namespace swarm::tensor
