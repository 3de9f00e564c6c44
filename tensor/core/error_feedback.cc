#include "tensor/core/error_feedback.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "tensor/core/codec.h"
#include "tensor/core/flat.h"

namespace swarm::tensor {

bool ErrorFeedback::cover(uint64_t first, uint64_t count) {
  if (first == first_ && count == count_) return false;
  const bool lost = std::any_of(kept_.begin(), kept_.end(), [](float x) { return x != 0; });
  kept_ = {};
  next_ = {};
  open_ = false;
  first_ = first;
  count_ = count;
  return lost;
}

void ErrorFeedback::open(uint64_t first, uint64_t count) {
  SWARM_CHECK(first >= first_ && first - first_ <= count_ && count <= count_ - (first - first_));
  if (open_) return;
  open_ = true;
  kept_.resize(count_);  // zeros if it was empty
  next_ = kept_;
}

EncodedTensor ErrorFeedback::encode(uint64_t first, const float* values, uint64_t count,
                                    Codec codec) {
  open(first, count);
  std::vector<float> sum(count);
  const float* before = kept(first);
  for (uint64_t i = 0; i < count; ++i) sum[i] = values[i] + before[i];
  EncodedTensor encoded = tensor::encode(sum.data(), {static_cast<int64_t>(count)}, codec);
  const auto decoded = decode_flat(encoded, count);
  const auto* got = reinterpret_cast<const float*>(decoded.value().data());
  float* after = next(first);
  for (uint64_t i = 0; i < count; ++i) {
    const float lost = sum[i] - got[i];
    after[i] = std::isfinite(lost) ? lost : 0;
  }
  return encoded;
}

void ErrorFeedback::add(uint64_t first, const float* values, uint64_t count, float* out) {
  open(first, count);
  const float* before = kept(first);
  for (uint64_t i = 0; i < count; ++i) out[i] = values[i] + before[i];
  std::fill_n(next(first), count, 0.0f);
}

void ErrorFeedback::keep() {
  if (open_) std::swap(kept_, next_);
  open_ = false;
}

void ErrorFeedback::give_up() { open_ = false; }

Buffer ErrorFeedback::residual() const {
  if (std::all_of(kept_.begin(), kept_.end(), [](float x) { return x == 0; })) return {};
  MutableBuffer out = MutableBuffer::allocate(kept_.size() * sizeof(float));
  std::memcpy(out.data(), kept_.data(), out.size());
  return out.freeze();
}

Status ErrorFeedback::restore(const Buffer& residual) {
  if (!residual.empty() && residual.size() != count_ * sizeof(float))
    return Error{ErrorCode::kShapeMismatch, "error feedback: a residual of another size"};
  std::vector<float> values(residual.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), residual.data(), residual.size());
  if (!all_finite(values.data(), values.size()))
    return Error{ErrorCode::kNonFinite, "error feedback: a residual that is not finite"};
  kept_ = std::move(values);
  open_ = false;
  return {};
}

}  // namespace swarm::tensor
