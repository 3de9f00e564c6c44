#include "tensor/data/bigram.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/check.h"

namespace swarm::tensor {
namespace {

constexpr size_t kBytes = 256;

/// counts[previous * 256 + next].
std::vector<uint64_t> count_pairs(const TextData& data) {
  std::vector<uint64_t> counts(kBytes * kBytes, 0);
  std::vector<uint8_t> block(1 << 20);
  const uint64_t size = data.size_bytes(Split::kTrain);
  // Blocks overlap by one byte, so that every pair is counted once.
  for (uint64_t offset = 0; offset + 1 < size; offset += block.size() - 1) {
    uint64_t n = std::min<uint64_t>(block.size(), size - offset);
    data.read(Split::kTrain, offset, n, block.data());
    for (uint64_t i = 1; i < n; ++i) ++counts[block[i - 1] * kBytes + block[i]];
  }
  return counts;
}

}  // namespace

double bigram_loss(const TextData& data, uint64_t validation_samples, double alpha) {
  SWARM_CHECK(alpha > 0 && validation_samples >= 1);
  const std::vector<uint64_t> counts = count_pairs(data);
  std::vector<double> nats(counts.size());
  for (size_t previous = 0; previous < kBytes; ++previous) {
    auto row = counts.begin() + static_cast<ptrdiff_t>(previous * kBytes);
    double total = static_cast<double>(std::accumulate(row, row + kBytes, uint64_t{0}));
    for (size_t next = 0; next < kBytes; ++next) {
      double count = static_cast<double>(row[static_cast<ptrdiff_t>(next)]);
      nats[previous * kBytes + next] = std::log((total + kBytes * alpha) / (count + alpha));
    }
  }
  double sum = 0;
  const auto sequence = static_cast<size_t>(data.sequence());
  for (uint64_t sample = 0; sample < validation_samples; ++sample) {
    Buffer window = data.microbatch(Split::kValidation, {sample});
    const auto* tokens = reinterpret_cast<const int32_t*>(window.data());
    for (size_t i = 0; i < sequence; ++i) {
      sum += nats[static_cast<size_t>(tokens[i]) * kBytes + static_cast<size_t>(tokens[i + 1])];
    }
  }
  return sum / static_cast<double>(validation_samples) / static_cast<double>(sequence);
}

}  // namespace swarm::tensor
