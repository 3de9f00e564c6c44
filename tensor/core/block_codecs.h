/// Lossy codecs of 8 and 4 bits: a float32 scale for every block, then the codes.
///
/// The scale is the largest magnitude of the block. A block with a value that is not finite has NaN
/// as its scale and decodes to NaN everywhere, so the fault is seen and never becomes a number.
/// decode(encode(x)) encodes to values of the same bits again. Ties round to the even code.
///
/// Pure and thread-safe. Element by element in IEEE float32: the same bits on every machine.
#pragma once

#include <cstdint>

namespace swarm::tensor {

constexpr uint64_t kCodecBlock = 1024;  ///< elements

/// What n values take: ceil(n / kCodecBlock) scales and n codes of 8 or 4 bits.
uint64_t int8_bytes(uint64_t n);
uint64_t int4_bytes(uint64_t n);

/// scale * c / 127, c in -127 .. 127.
void encode_int8_linear(const float* in, uint64_t n, uint8_t* out);
void decode_int8_linear(const uint8_t* in, uint64_t n, float* out);

/// scale * c / 7, c in -7 .. 7; the first of two in the low half of a byte.
void encode_int4(const float* in, uint64_t n, uint8_t* out);
void decode_int4(const uint8_t* in, uint64_t n, float* out);

/// scale * dynamic_value(c): finer the smaller the value, down to 1e-6 of the scale.
void encode_int8(const float* in, uint64_t n, uint8_t* out);
void decode_int8(const uint8_t* in, uint64_t n, float* out);

/// Bit 7 of `code` is the sign. The others, k > 0, with e = floor(log2 k) and f = k - 2^e, stand for
/// 10^(e - 6) (0.1 + 0.9 (f + 1) / 2^e): decade e is cut into 2^e equal steps. 127 is 1; 0 is 0.
float dynamic_value(uint8_t code);

}  // namespace swarm::tensor
