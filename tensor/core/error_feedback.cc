#include "tensor/core/error_feedback.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "common/check.h"
#include "tensor/core/codec.h"

namespace swarm::tensor {
namespace {

const float* floats(const Residual& residual) {
  return reinterpret_cast<const float*>(residual.values.data());
}

double squares(const float* values, uint64_t count) {
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += double{values[i]} * values[i];
  return sum;
}

}  // namespace

double norm(const Residual& residual) { return norm_outside(residual, 0, 0); }

double norm_outside(const Residual& residual, uint64_t first, uint64_t count) {
  const uint64_t n = residual.count();
  const uint64_t from = std::clamp(first, residual.first, residual.first + n) - residual.first;
  const uint64_t to =
      std::clamp(first + count, residual.first + from, residual.first + n) - residual.first;
  return std::sqrt(squares(floats(residual), from) + squares(floats(residual) + to, n - to));
}

ErrorFeedback::ErrorFeedback(uint64_t first, uint64_t count, Residual before)
    : first_(first), count_(count), before_(std::move(before)) {}

void ErrorFeedback::lost_before(uint64_t first, uint64_t count, float* out) const {
  std::fill_n(out, count, 0.0f);
  const uint64_t from = std::max(first, before_.first);
  const uint64_t to = std::min(first + count, before_.first + before_.count());
  if (from < to)
    std::memcpy(out + (from - first), floats(before_) + (from - before_.first),
                (to - from) * sizeof(float));
}

float* ErrorFeedback::next_at(uint64_t first, uint64_t count) {
  SWARM_CHECK(first >= first_ && first - first_ <= count_ && count <= count_ - (first - first_));
  if (next_.size() == 0 && count_ > 0) {
    next_ = MutableBuffer::allocate(count_ * sizeof(float));
    lost_before(first_, count_, reinterpret_cast<float*>(next_.data()));
  }
  return reinterpret_cast<float*>(next_.data()) + (first - first_);
}

EncodedTensor ErrorFeedback::encode(uint64_t first, const float* values, uint64_t count,
                                    Codec codec, float* arrived) {
  float* after = next_at(first, count);
  std::vector<float> sum(count);
  lost_before(first, count, sum.data());
  for (uint64_t i = 0; i < count; ++i) sum[i] += values[i];
  EncodedTensor encoded = tensor::encode(sum.data(), {static_cast<int64_t>(count)}, codec);
  const Buffer decoded = decode_flat(encoded, count).value();
  const auto* got = reinterpret_cast<const float*>(decoded.data());
  if (!settled_)
    for (uint64_t i = 0; i < count; ++i) {
      const float lost = sum[i] - got[i];
      after[i] = std::isfinite(lost) ? lost : 0;
    }
  if (arrived != nullptr) std::memcpy(arrived, got, count * sizeof(float));
  return encoded;
}

void ErrorFeedback::add(uint64_t first, const float* values, uint64_t count, float* out) {
  if (before_.values.empty() && next_.size() == 0) {  // nothing was lost so far, nor is now
    if (out != values) std::copy_n(values, count, out);
    return;
  }
  float* after = next_at(first, count);
  std::vector<float> before(count);
  lost_before(first, count, before.data());
  for (uint64_t i = 0; i < count; ++i) out[i] = values[i] + before[i];
  if (!settled_) std::fill_n(after, count, 0.0f);
}

Residual ErrorFeedback::next() {
  const bool same = before_.first == first_ && before_.count() == count_;
  if (next_.size() == 0 && (same || before_.values.empty())) return before_;
  next_at(first_, 0);
  settled_ = true;
  return {first_, next_.freeze()};
}

}  // namespace swarm::tensor
