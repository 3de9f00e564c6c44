// Every instruction set gives the same bits (tensor/core/clones.h): the codecs' own source is
// compiled here once more, without clones and for one instruction set each, and compared with what
// the library chose on this machine.
#include "tensor/core/clones.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/check.h"
#include "tensor/core/block_codecs.h"
#include "tensor/core/codec.h"
#include "tensor/core/float_bits.h"
#include "tests/support/codecs.h"

namespace swarm {
namespace portable {
using namespace swarm::tensor;  // NOLINT: types; what is compiled again hides the library's
}
namespace for_avx2 {
using namespace swarm::tensor;  // NOLINT: as above
}
namespace for_avx512 {
using namespace swarm::tensor;  // NOLINT: as above
}
}  // namespace swarm

#pragma push_macro("SWARM_CLONES")
#undef SWARM_CLONES
#define SWARM_CLONES
#define tensor portable
#include "tensor/core/block_codecs.cc"
#include "tensor/core/codecs.cc"
#undef tensor
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SWARM_HAS_OTHERS
#undef SWARM_CLONES
#define SWARM_CLONES __attribute__((target("avx2")))
#define tensor for_avx2
#include "tensor/core/block_codecs.cc"
#include "tensor/core/codecs.cc"
#undef tensor
#undef SWARM_CLONES
#define SWARM_CLONES __attribute__((target("arch=x86-64-v4")))
#define tensor for_avx512
#include "tensor/core/block_codecs.cc"
#include "tensor/core/codecs.cc"
#undef tensor
#endif
#pragma pop_macro("SWARM_CLONES")

namespace swarm::tensor {
namespace {

struct Build {
  std::string name;
  const CodecInfo& (*row)(Codec);
};

/// All that this machine can run, the library's choice first.
std::vector<Build> builds() {
  std::vector<Build> all = {{"library", &tensor::codec_info}, {"portable", &portable::codec_info}};
#ifdef SWARM_HAS_OTHERS
  if (__builtin_cpu_supports("avx2")) all.push_back({"avx2", &for_avx2::codec_info});
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back({"avx512", &for_avx512::codec_info});
#endif
  return all;
}

/// Around the width of every vector and the block, where loops have their tails.
std::vector<uint64_t> sizes() {
  std::vector<uint64_t> all;
  for (uint64_t n = 1; n <= 70; ++n) all.push_back(n);
  for (const uint64_t n : {127, 128, 1023, 1024, 1025, 1040, 2047, 2049, 5001}) all.push_back(n);
  return all;
}

using Bits = std::vector<uint32_t>;
using Draw = Bits (*)(uint64_t n);

Bits any_bits(uint64_t n) {  // NaN of any payload, infinities and denormals among them
  std::mt19937 random(static_cast<uint32_t>(n));
  Bits out(n);
  for (auto& bits : out) bits = static_cast<uint32_t>(random());
  return out;
}

Bits finite(uint64_t n) {
  Bits out = any_bits(n);
  for (auto& bits : out)
    if ((bits & 0x7f800000) == 0x7f800000) bits ^= 0x40000000;
  return out;
}

Bits normal_with_faults(uint64_t n) {  // in some blocks
  std::mt19937 random(static_cast<uint32_t>(n));
  std::normal_distribution<float> draw;
  const uint32_t faults[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffffffff};
  Bits out(n);
  for (auto& bits : out) bits = bits_of(draw(random));
  if (n > 1100) out[1050 + n % 50] = faults[n % 5];
  if (n < 64 && n % 3 == 0) out[n / 2] = faults[n % 5];
  return out;
}

Bits denormals_and_zeros(uint64_t n) {
  Bits out = any_bits(n);
  for (auto& bits : out) bits = bits % 4 == 0 ? bits & 0x80000000 : bits & 0x807fffff;
  return out;
}

Bits zeros(uint64_t n) { return Bits(n); }

/// Half-way between two codes of each codec, and the numbers beside.
Bits ties(uint64_t n) {
  std::vector<float> values = {127.0f};
  for (int k = 0; k < 127; ++k) values.push_back(static_cast<float>(k) + 0.5f);
  for (int k = 0; k < 7; ++k) values.push_back((static_cast<float>(k) + 0.5f) * (127.0f / 7));
  for (int k = 1; k < 128; ++k)
    values.push_back(
        (dynamic_value(static_cast<uint8_t>(k)) + dynamic_value(static_cast<uint8_t>(k - 1))) / 2 *
        127);
  for (int k = 0; k < 64; ++k) values.push_back(1.0f + (static_cast<float>(k) + 0.5f) / 1024);
  for (int k = 0; k < 64; ++k) values.push_back(1.0f + (static_cast<float>(k) + 0.5f) / 128);
  for (int k = 0; k < 64; ++k) values.push_back(std::ldexp(static_cast<float>(k) + 0.5f, -24));
  Bits out(n);
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t place = i % kCodecBlock;
    const uint32_t bits = bits_of(values[place % values.size()]);
    const uint32_t beside = place / values.size() == 1 ? 1 : place / values.size() == 2 ? ~0u : 0;
    out[i] = ((bits == 0x42fe0000 ? bits : bits + beside) & 0x7fffffff) | (i % 2 << 31);
  }
  return out;
}

const Draw kDraws[] = {any_bits, finite, normal_with_faults, denormals_and_zeros, zeros, ties};

std::vector<uint8_t> encoded(const CodecInfo& row, const Bits& bits) {
  std::vector<float> in(bits.size());
  std::memcpy(in.data(), bits.data(), bits.size() * sizeof(float));
  std::vector<uint8_t> out(row.bytes(bits.size()), 0xa5);
  row.encode(in.data(), in.size(), out.data());
  return out;
}

Bits decoded(const CodecInfo& row, const std::vector<uint8_t>& bytes, uint64_t n) {
  std::vector<float> out(n);
  row.decode(bytes.data(), n, out.data());
  Bits bits(n);
  std::memcpy(bits.data(), out.data(), n * sizeof(float));
  return bits;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Clones)

BOOST_AUTO_TEST_CASE(every_instruction_set_encodes_and_decodes_to_the_same_bits) {
  const auto all = builds();
  for (const auto& build : all) BOOST_TEST_MESSAGE("compared: " << build.name);
  for (const Codec codec : testing::all_codecs())
    for (const uint64_t n : sizes())
      for (const Draw draw : kDraws) {
        const Bits values = draw(n);
        const CodecInfo& library = all[0].row(codec);
        const auto bytes = encoded(library, values);
        const Bits back = decoded(library, bytes, n);
        for (const auto& build : all) {
          const CodecInfo& other = build.row(codec);
          BOOST_REQUIRE(other.name == std::string(library.name));
          BOOST_REQUIRE_MESSAGE(encoded(other, values) == bytes,
                                build.name << " encodes other bits: " << other.name << ", " << n);
          BOOST_REQUIRE_MESSAGE(decoded(other, bytes, n) == back,
                                build.name << " decodes other bits: " << other.name << ", " << n);
        }
      }
}

/// What strangers send: scales that are negative, infinite, NaN; codes that nothing encodes to.
BOOST_AUTO_TEST_CASE(every_instruction_set_decodes_any_bytes_to_the_same_bits) {
  std::mt19937 random(1);
  for (const Codec codec : testing::all_codecs())
    for (const uint64_t n : sizes()) {
      std::vector<uint8_t> bytes(codec_info(codec).bytes(n));
      for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
      const Bits expected = decoded(codec_info(codec), bytes, n);
      for (const auto& build : builds())
        BOOST_REQUIRE_MESSAGE(decoded(build.row(codec), bytes, n) == expected,
                              build.name << ": " << codec_info(codec).name << ", " << n);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
