/// What an ArithmeticStage (arithmetic_stage.h) holds: parameters and moments, and the memory of its sum as a
/// SumWatch looks at it.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "tensor/core/flat.h"
#include "tensor/core/stage_memory.h"

namespace swarm::sim {

/// What a stage whose first parameter is this adds to gradients: 0 to 7.
inline int64_t weight_of(float parameter) {
  return static_cast<int64_t>(std::floor(std::abs(parameter))) % 8;
}

/// Its parameters and their moments.
class ArithmeticState {
 public:
  /// `has_weight`: gradients depend on it. Not in the asynchronous mode, where nobody could tell what
  /// they should be.
  explicit ArithmeticState(uint64_t parameters, bool has_weight = false) : has_weight_(has_weight) {
    set(parameters, -1.0f);
  }

  void set(uint64_t parameters, float value) {
    parameters_.assign(parameters, value);
    moments_.assign(2 * parameters, value);
  }
  uint64_t size() const { return parameters_.size(); }
  bool has(uint64_t first, uint64_t count) const {
    return first < size() && count <= size() - first;
  }
  bool blank(uint64_t i) const { return parameters_[i] == -1.0f && moments_[i] == -1.0f; }
  /// They are parameters, not what memory holds before it was initialized, nor a part that was learned.
  bool is_set() const { return !blank(0) && !blank(size() - 1); }
  int64_t weight() const { return has_weight_ ? weight_of(parameters_.front()) : 0; }
  std::vector<float>& parameters() { return parameters_; }
  const std::vector<float>& parameters() const { return parameters_; }
  std::vector<float>& moments() { return moments_; }
  uint64_t moments_checksum() const { return tensor::digest(moments_.data(), moments_.size() * 4); }

  /// Elements [first, first + count) of each vector, one behind the other. Requires has().
  std::string range(uint64_t first, uint64_t count) const {
    std::string bytes;
    for (const float* vector : {parameters_.data(), moments_.data(), moments_.data() + size()})
      bytes.append(reinterpret_cast<const char*>(vector + first), count * 4);
    return bytes;
  }
  /// Takes what range() gave; false if it is of another size.
  bool take(uint64_t first, uint64_t count, const void* bytes, size_t size_bytes) {
    if (!has(first, count) || size_bytes != 3 * count * 4) return false;
    const auto* from = static_cast<const char*>(bytes);
    for (float* vector : {parameters_.data(), moments_.data(), moments_.data() + size()}) {
      std::memcpy(vector + first, from, count * 4);
      from += count * 4;
    }
    return true;
  }
  /// `gradient`: of these elements; false if it is of another size.
  bool update(uint64_t first, uint64_t count, uint64_t updates, const Buffer& gradient,
              double clip_scale) {
    if (!has(first, count) || gradient.size() != count * 4) return false;
    for (uint64_t i = first; i < first + count; ++i) {
      float g = 0;
      std::memcpy(&g, gradient.data() + (i - first) * 4, 4);
      parameters_[i] -= g * static_cast<float>(clip_scale);
      moments_[i] = moments_[i] / 2 + g;
      moments_[size() + i] = moments_[size() + i] / 2 + static_cast<float>(updates);
    }
    return true;
  }

 private:
  std::vector<float> parameters_, moments_;
  bool has_weight_;
};

class ArithmeticMemory final : public tensor::StageMemory {
 public:
  ArithmeticMemory(ArithmeticState& state, std::vector<float>& sum) : state_(state), sum_(sum) {}
  uint64_t sum_checksum() const override { return tensor::digest(sum_.data(), sum_.size() * 4); }
  void flip_bit(tensor::StatePart part) override {
    auto& values = part == tensor::StatePart::kParameters ? state_.parameters()
                   : part == tensor::StatePart::kMoments  ? state_.moments()
                                                          : sum_;
    float& value = values[sum_.size() / 2];
    if (part == tensor::StatePart::kContribution)
      value = std::numeric_limits<float>::quiet_NaN();
    else
      flip_low_bit(value);
  }

 private:
  ArithmeticState& state_;
  std::vector<float>& sum_;
};

}  // namespace swarm::sim
