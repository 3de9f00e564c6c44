#include "tensor/core/block_codecs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "tensor/core/clones.h"
#include "tensor/core/float_bits.h"

namespace swarm::tensor {
namespace {

constexpr uint32_t kInfinity = 0x7f800000;

uint64_t blocks(uint64_t n) { return n / kCodecBlock + (n % kCodecBlock != 0 ? 1 : 0); }
uint64_t scale_bytes(uint64_t n) { return blocks(n) * sizeof(float); }

/// The largest magnitude; NaN if something is not finite.
SWARM_CLONES float scale_of(const float* __restrict in, uint64_t n) {
  uint32_t largest = 0;
  for (uint64_t i = 0; i < n; ++i) largest = std::max(largest, bits_of(in[i]) & 0x7fffffff);
  return float_of(largest >= kInfinity ? 0x7fc00000 : largest);
}

/// round(x / divisor * steps), ties to even: the FPU rounds when 1.5 * 2^23 is added.
inline int32_t linear_code(float x, float divisor, float steps) {
  return static_cast<int32_t>(bits_of(x / divisor * steps + 12582912.0f) - 0x4b400000);
}

SWARM_CLONES void linear8(const float* __restrict in, uint64_t n, float divisor,
                          uint8_t* __restrict out) {
  for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(linear_code(in[i], divisor, 127));
}

SWARM_CLONES void linear4(const float* __restrict in, uint64_t pairs, float divisor,
                          uint8_t* __restrict out) {
  for (uint64_t i = 0; i < pairs; ++i) {
    const int32_t low = linear_code(in[2 * i], divisor, 7);
    const int32_t high = linear_code(in[2 * i + 1], divisor, 7);
    out[i] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
  }
}

SWARM_CLONES void from_linear8(const int8_t* __restrict in, uint64_t n, float scale,
                               float* __restrict out) {
  for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) / 127.0f * scale;
}

inline float from_nibble(int32_t nibble, float scale) {
  return static_cast<float>((nibble ^ 8) - 8) / 7.0f * scale;
}

SWARM_CLONES void from_linear4(const uint8_t* __restrict in, uint64_t pairs, float scale,
                               float* __restrict out) {
  for (uint64_t i = 0; i < pairs; ++i) {
    out[2 * i] = from_nibble(in[i] & 15, scale);
    out[2 * i + 1] = from_nibble(in[i] >> 4, scale);
  }
}

/// Codes of the magnitudes 0 .. 1 by the upper half of their bits, of which each holds at most one
/// threshold.
struct DynamicTable {
  std::array<float, 256> values{};
  std::array<uint32_t, 129> from{};     ///< The bits of the least magnitude that gets this code.
  std::array<uint8_t, 0x3f81> first{};  ///< The code of the least magnitude with these upper bits.

  DynamicTable() {
    for (size_t code = 0; code < 256; ++code)
      values[code] = dynamic_value(static_cast<uint8_t>(code));
    for (size_t k = 1; k < 128; ++k) {
      const double middle =
          (static_cast<double>(values[k - 1]) + static_cast<double>(values[k])) / 2;
      uint32_t bits = bits_of(static_cast<float>(middle));
      const auto rounded = static_cast<double>(float_of(bits));
      if (rounded < middle || (rounded == middle && k % 2 == 1)) ++bits;
      from[k] = bits;
    }
    from[128] = std::numeric_limits<uint32_t>::max();
    uint8_t k = 0;
    for (uint32_t upper = 0; upper < first.size(); ++upper) {
      while (from[k + 1U] <= upper << 16) ++k;
      first[upper] = k;
    }
  }
};

const DynamicTable& dynamic_table() {
  static const DynamicTable table;
  return table;
}

/// Calls body(first element, number of elements, scale's place) for every block.
template <class Body>
void for_blocks(uint64_t n, Body body) {
  for (uint64_t at = 0; at < n; at += kCodecBlock)
    body(at, std::min(kCodecBlock, n - at), at / kCodecBlock * sizeof(float));
}

/// Writes the scales, and zeros as the codes of blocks that have none or NaN as scale; calls
/// code(in, n, scale, out) for the others. A byte holds `per_byte` codes.
template <class Code>
void encode_blocks(const float* in, uint64_t n, uint8_t* out, uint64_t per_byte, Code code) {
  uint8_t* codes = out + scale_bytes(n);
  for_blocks(n, [&](uint64_t at, uint64_t count, uint64_t place) {
    const float scale = scale_of(in + at, count);
    std::memcpy(out + place, &scale, sizeof scale);
    uint8_t* to = codes + at / per_byte;
    if (scale > 0)
      code(in + at, count, scale, to);
    else
      std::memset(to, 0, (count + per_byte - 1) / per_byte);
  });
}

float scale_at(const uint8_t* in, uint64_t place) {
  float scale;
  std::memcpy(&scale, in + place, sizeof scale);
  return scale;
}

}  // namespace

uint64_t int8_bytes(uint64_t n) { return scale_bytes(n) + n; }
uint64_t int4_bytes(uint64_t n) { return scale_bytes(n) + n / 2 + n % 2; }

void encode_int8_linear(const float* in, uint64_t n, uint8_t* out) {
  encode_blocks(in, n, out, 1, linear8);
}

void decode_int8_linear(const uint8_t* in, uint64_t n, float* out) {
  const auto* codes = reinterpret_cast<const int8_t*>(in + scale_bytes(n));
  for_blocks(n, [&](uint64_t at, uint64_t count, uint64_t place) {
    from_linear8(codes + at, count, scale_at(in, place), out + at);
  });
}

void encode_int4(const float* in, uint64_t n, uint8_t* out) {
  encode_blocks(in, n, out, 2, [](const float* from, uint64_t count, float scale, uint8_t* to) {
    linear4(from, count / 2, scale, to);
    if (count % 2 == 1)
      to[count / 2] = static_cast<uint8_t>(linear_code(from[count - 1], scale, 7) & 15);
  });
}

void decode_int4(const uint8_t* in, uint64_t n, float* out) {
  const uint8_t* codes = in + scale_bytes(n);
  for_blocks(n, [&](uint64_t at, uint64_t count, uint64_t place) {
    const float scale = scale_at(in, place);
    from_linear4(codes + at / 2, count / 2, scale, out + at);
    if (count % 2 == 1) out[at + count - 1] = from_nibble(codes[(at + count - 1) / 2] & 15, scale);
  });
}

float dynamic_value(uint8_t code) {
  const uint32_t k = code & 0x7f;
  uint32_t steps = 1;               // 2^e
  uint32_t denominator = 10000000;  // 10^(7 - e)
  for (; 2 * steps <= k; steps *= 2) denominator /= 10;
  // Both are whole numbers, so the quotient is the same everywhere.
  const double value = k == 0 ? 0.0
                              : static_cast<double>(steps + 9 * (k - steps + 1)) /
                                    (static_cast<double>(steps) * denominator);
  return static_cast<float>(code < 128 ? value : -value);
}

void encode_int8(const float* in, uint64_t n, uint8_t* out) {
  const DynamicTable& table = dynamic_table();
  encode_blocks(in, n, out, 1, [&](const float* from, uint64_t count, float scale, uint8_t* to) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t bits = bits_of(from[i] / scale);
      const uint32_t magnitude = bits & 0x7fffffff;
      const uint32_t k = table.first[magnitude >> 16];
      to[i] =
          static_cast<uint8_t>(bits >> 31 << 7 | (k + (magnitude >= table.from[k + 1] ? 1 : 0)));
    }
  });
}

void decode_int8(const uint8_t* in, uint64_t n, float* out) {
  const DynamicTable& table = dynamic_table();
  const uint8_t* codes = in + scale_bytes(n);
  for_blocks(n, [&](uint64_t at, uint64_t count, uint64_t place) {
    const float scale = scale_at(in, place);
    for (uint64_t i = at; i < at + count; ++i) out[i] = table.values[codes[i]] * scale;
  });
}

}  // namespace swarm::tensor
