// `swarm bench codec`: what encoding costs a core, beside what its memory gives, and what it loses.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/bench/figures/codec_figures.h"
#include "tensor/core/codec.h"

namespace swarm::apps {
namespace {

constexpr uint64_t kErrorValues = 1 << 20;

/// Of this thread: other processes on the machine do not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Work>
double gb_per_s(uint64_t values, Work work) {
  const double begin = cpu_seconds();
  work();
  return static_cast<double>(values * sizeof(float)) / (cpu_seconds() - begin) * 1e-9;
}

template <class Distribution>
std::vector<float> drawn(uint64_t n, Distribution distribution) {
  std::mt19937_64 random(1);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(distribution(random));
  return values;
}

double error_of(const tensor::CodecInfo& codec, const std::vector<float>& values) {
  std::vector<uint8_t> bytes(codec.bytes(values.size()));
  std::vector<float> decoded(values.size());
  codec.encode(values.data(), values.size(), bytes.data());
  codec.decode(bytes.data(), values.size(), decoded.data());
  return relative_error(values, decoded);
}

/// Their bits, summed: float additions would wait for one another.
uint64_t read_all(const std::vector<float>& values) {
  const auto* words = reinterpret_cast<const unsigned char*>(values.data());
  uint64_t sums[8] = {};
  const uint64_t step = sizeof sums;
  for (uint64_t at = 0; at + step <= values.size() * sizeof(float); at += step)
    for (uint64_t k = 0; k < 8; ++k) {
      uint64_t word;
      std::memcpy(&word, words + at + k * sizeof word, sizeof word);
      sums[k] += word;
    }
  uint64_t sum = 0;
  for (const uint64_t one : sums) sum += one;
  return sum;
}

/// One after the other, `rounds` times: machines drift.
class Rounds {
 public:
  explicit Rounds(uint64_t n) : from_(drawn(n, std::normal_distribution<double>())), to_(n) {
    bytes_.resize(n * sizeof(float));
  }
  void measure(CodecFigures& figures) {
    const uint64_t n = from_.size();
    figures.read_gb_s.push_back(gb_per_s(n, [&] { read_ = read_ + read_all(from_); }));
    figures.copy_gb_s.push_back(
        gb_per_s(n, [&] { std::memcpy(to_.data(), from_.data(), n * sizeof(float)); }));
    for (size_t row = 0; row < figures.codecs.size(); ++row) {
      const auto& codec = tensor::codec_info(static_cast<tensor::Codec>(row));
      auto& figure = figures.codecs[row];
      figure.encode_gb_s.push_back(
          gb_per_s(n, [&] { codec.encode(from_.data(), n, bytes_.data()); }));
      figure.decode_gb_s.push_back(
          gb_per_s(n, [&] { codec.decode(bytes_.data(), n, to_.data()); }));
    }
  }

 private:
  std::vector<float> from_, to_;
  std::vector<uint8_t> bytes_;
  volatile uint64_t read_ = 0;  ///< So that reading is not left out.
};

}  // namespace

int bench_codec(const CodecBenchOptions& options) {
  CodecFigures figures;
  figures.values = options.values;
  const auto normal = drawn(kErrorValues, std::normal_distribution<double>());
  const auto heavy = drawn(kErrorValues, std::student_t_distribution<double>(3));
  for (size_t row = 0; row < tensor::codec_names().size(); ++row) {
    const auto& codec = tensor::codec_info(static_cast<tensor::Codec>(row));
    const double bytes = static_cast<double>(codec.bytes(options.values));
    figures.codecs.push_back({codec.name,
                              bytes / static_cast<double>(options.values),
                              {},
                              {},
                              error_of(codec, normal),
                              error_of(codec, heavy)});
  }
  Rounds rounds(options.values);
  CodecFigures first = figures;  // it faults in the memory
  rounds.measure(first);
  for (int round = 0; round < options.rounds; ++round) rounds.measure(figures);
  std::fputs((options.json ? codec_json(figures) : codec_table(figures)).c_str(), stdout);
  return 0;
}

}  // namespace swarm::apps
