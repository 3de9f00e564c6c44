#include "tensor/core/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
namespace swarm::tensor {
namespace {

/// t enters the formulas as a double, which counts exactly up to here.
constexpr uint64_t kMaxUpdates = uint64_t{1} << 53;

}  // namespace

Status check_counters(OptimizerKind kind, const OptimizerCounters& counters) {
  auto corrupt = [](const std::string& text) {
    return Error{ErrorCode::kCorruptCheckpoint, "optimizer: " + text, 0};
  };
  if (counters.updates > kMaxUpdates)
    return corrupt(fmt::format("cannot have done {} updates", counters.updates));
  const double product = counters.momentum_product;
  const bool one = !optimizer_info(kind).has_momentum_product || counters.updates == 0;
  if (one ? product == 1 : product >= 0 && product < 1) return {};
  return corrupt(fmt::format("a momentum product of {} does not go with {} after {} updates",
                             product, to_string(kind), counters.updates));
}

Optimizer::Optimizer(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
                     ParallelFor parallel)
    : options_(options),
      size_(layout_size(layout)),
      num_moments_(optimizer_info(options.kind).moments.size()),
      parallel_(std::move(parallel)) {
  for (const ParameterInfo& info : layout) {
    const bool joins = !ranges_.empty() && ranges_.back().decayed == info.decayed;
    if (joins) {
      ranges_.back().size += info.size;
    } else {
      ranges_.push_back({info.offset, info.size, info.decayed});
    }
  }
  moments_ = MutableBuffer::allocate(moments_bytes());
  if (!parallel_) parallel_ = [](size_t n, const ParallelBody& body) { body(0, n); };
  reset();
}

void Optimizer::step(const float* gradient, uint64_t lr_position, double gradient_scale,
                     const float* from, float* to) {
  const auto position = static_cast<int64_t>(std::min<uint64_t>(lr_position, INT64_MAX));
  begin(learning_rate(options_, position), gradient_scale);
  run_ranges(0, size_, gradient, from, to);
}

void Optimizer::step_range(uint64_t first, uint64_t count, const OptimizerCounters& before,
                           const float* gradient, uint64_t lr_position, double gradient_scale,
                           float* values) {
  counters_ = before;
  const auto position = static_cast<int64_t>(std::min<uint64_t>(lr_position, INT64_MAX));
  begin(learning_rate(options_, position), gradient_scale);
  run_ranges(first, count, gradient, values, values);
}

void Optimizer::run_ranges(uint64_t first, uint64_t count, const float* gradient, const float* from,
                           float* to) {
  for (const Range& range : ranges_) {
    const uint64_t start = std::max(range.offset, first);
    const uint64_t stop = std::min(range.offset + range.size, first + count);
    if (start >= stop) continue;
    const float decay = range.decayed ? static_cast<float>(options_.weight_decay) : 0;
    parallel_(stop - start, [&](size_t begin, size_t end) {
      const uint64_t at = start + begin;
      std::vector<float*> own;
      for (size_t i = 0; i < num_moments_; ++i) own.push_back(moments() + i * size_ + at);
      run(decay, gradient + (at - first), from + at, to + at, own.data(), end - begin);
    });
  }
}

void Optimizer::reset() {
  counters_ = {};
  std::memset(moments_.data(), 0, moments_bytes());
}

Status Optimizer::set_counters(const OptimizerCounters& counters) {
  if (Status status = check_counters(options_.kind, counters); !status) return status;
  counters_ = counters;
  return {};
}

Status Optimizer::restore(const OptimizerCounters& counters, const void* moments) {
  if (Status status = set_counters(counters); !status) return status;
  std::memcpy(moments_.data(), moments, moments_bytes());
  return {};
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const std::vector<ParameterInfo>& layout,
                                          ParallelFor parallel) {
  return optimizer_info(options.kind).make(options, layout, std::move(parallel));
}

const char* to_string(OptimizerKind kind) { return optimizer_info(kind).name; }

std::optional<OptimizerKind> find_optimizer(const std::string& name) {
  const auto names = optimizer_names();
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<OptimizerKind>(i);
  return {};
}

}  // namespace swarm::tensor
