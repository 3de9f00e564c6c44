#include "tensor/core/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "common/check.h"
#include "tensor/core/flat.h"

namespace swarm::tensor {
namespace {

/// t enters the formulas as a double, which counts exactly up to here.
constexpr uint64_t kMaxUpdates = uint64_t{1} << 53;
/// Elements that a norm adds up in one go; between them the order is that of the parameter.
constexpr size_t kNormBlock = 4096;

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
      layer_wise_(optimizer_info(options.kind).layer_wise),
      size_(layout_size(layout)),
      num_moments_(optimizer_info(options.kind).moments.size()),
      parallel_(std::move(parallel)) {
  for (const ParameterInfo& info : layout) {
    const bool joins = !ranges_.empty() && ranges_.back().decayed == info.decayed;
    if (joins && !(layer_wise_ && info.decayed)) {
      ranges_.back().size += info.size;
      continue;
    }
    ranges_.push_back({info.offset, info.size, info.decayed, factors_.size()});
    if (has_factor(ranges_.back())) factors_.push_back(1);
  }
  moments_ = MutableBuffer::allocate(moments_bytes());
  if (!parallel_) parallel_ = [](size_t n, const ParallelBody& body) { body(0, n); };
  reset();
}

void Optimizer::step(const float* gradient, uint64_t lr_position, double gradient_scale,
                     const float* from, float* to) {
  const auto position = static_cast<int64_t>(std::min<uint64_t>(lr_position, INT64_MAX));
  begin(learning_rate(options_, position), gradient_scale);
  for (const Range& range : ranges_)
    if (has_factor(range)) factors_[range.factor] = factor_of(range, gradient, from);
  run_ranges(0, size_, factors_, gradient, from, to);
}

Status Optimizer::step_range(uint64_t first, uint64_t count, const OptimizerCounters& before,
                             const std::vector<float>& factors, const float* gradient,
                             uint64_t lr_position, double gradient_scale, float* values) {
  if (Status status = check_factors(factors); !status) return status;
  counters_ = before;
  const auto position = static_cast<int64_t>(std::min<uint64_t>(lr_position, INT64_MAX));
  begin(learning_rate(options_, position), gradient_scale);
  run_ranges(first, count, factors, gradient, values, values);
  return {};
}

Status Optimizer::check_factors(const std::vector<float>& factors) const {
  if (factors.size() != factors_.size())
    return Error{
        ErrorCode::kShapeMismatch,
        fmt::format("optimizer: {} factors for {} matrices", factors.size(), factors_.size()), 0};
  for (float factor : factors)
    if (!std::isfinite(factor) || factor <= 0)
      return Error{ErrorCode::kNonFinite,
                   fmt::format("optimizer: {} cannot be the factor of an update", factor), 0};
  return {};
}

/// Norm of the values over norm of the update; 1 if either is 0. Each block is added up by whoever
/// gets its first element, in an order of its own, and the blocks in theirs: the split into threads
/// changes nothing.
float Optimizer::factor_of(const Range& range, const float* gradient, const float* from) const {
  struct Squares {
    double values = 0, update = 0;
  };
  std::vector<Squares> blocks((range.size + kNormBlock - 1) / kNormBlock);
  parallel_(range.size, [&](size_t begin, size_t end) {
    float update[kNormBlock];
    std::vector<const float*> own(num_moments_);
    for (size_t i = (begin + kNormBlock - 1) / kNormBlock; i * kNormBlock < end; ++i) {
      const uint64_t at = range.offset + i * kNormBlock;
      const size_t n = std::min<uint64_t>(kNormBlock, range.offset + range.size - at);
      for (size_t k = 0; k < num_moments_; ++k) own[k] = moments() + k * size_ + at;
      measure(decay_of(range), gradient + at, from + at, own.data(), update, n);
      blocks[i] = {squared_norm(from + at, n), squared_norm(update, n)};
    }
  });
  Squares sum;
  for (const Squares& block : blocks) {
    sum.values += block.values;
    sum.update += block.update;
  }
  const auto factor = static_cast<float>(std::sqrt(sum.values) / std::sqrt(sum.update));
  return std::isfinite(factor) && factor > 0 ? factor : 1;
}

void Optimizer::measure(float, const float*, const float*, const float* const*, float*,
                        size_t) const {
  SWARM_CHECK(!layer_wise_);  // which defines it
}

void Optimizer::run_ranges(uint64_t first, uint64_t count, const std::vector<float>& factors,
                           const float* gradient, const float* from, float* to) {
  for (const Range& range : ranges_) {
    const uint64_t start = std::max(range.offset, first);
    const uint64_t stop = std::min(range.offset + range.size, first + count);
    if (start >= stop) continue;
    const float factor = has_factor(range) ? factors[range.factor] : 1;
    parallel_(stop - start, [&](size_t begin, size_t end) {
      const uint64_t at = start + begin;
      std::vector<float*> own;
      for (size_t i = 0; i < num_moments_; ++i) own.push_back(moments() + i * size_ + at);
      run(decay_of(range), factor, gradient + (at - first), from + at, to + at, own.data(),
          end - begin);
    });
  }
}

void Optimizer::reset() {
  counters_ = {};
  std::fill(factors_.begin(), factors_.end(), 1.0f);
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
