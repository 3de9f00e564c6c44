/// A stage's parameters and the older versions of them that somebody still needs: weight stashing.
/// LibTorch; included by .cc files of tensor/ only.
///
/// Updates write through raw pointers, which autograd's version counters do not see; a graph whose
/// weights changed under it would silently give the wrong gradient. So nobody changes a version
/// that is held: a change writes the next version to memory of its own as long as a kept graph (or
/// a round of averaging) holds the current one, and in place otherwise. Memory: one version for
/// each change that lies between two kept forwards, so never more versions than microbatches kept
/// and rounds under way, plus one. It comes from the pool of common/buffer.h, so that a version's
/// pages are touched for the first time only once.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/buffer.h"
#include "tensor/core/layout.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

class ParameterVersions {
 public:
  /// One version; immutable while anybody but the ParameterVersions holds it.
  class Version {
   public:
    /// float32 [n]
    const float* values() const { return reinterpret_cast<const float*>(memory_.data()); }

   private:
    friend class ParameterVersions;
    MutableBuffer memory_;
    std::vector<torch::Tensor> weights_;   // leaves, views of memory_, in order of the layout
    std::vector<torch::Tensor> computed_;  // leaves on the device, in its type; or empty
  };
  using Held = std::shared_ptr<Version>;

  /// Values are undefined until the first change(). Throws std::bad_alloc.
  ParameterVersions(const std::vector<ParameterInfo>& layout, ComputeType compute,
                    torch::Device device);

  /// Holding it (or a Buffer of share()) keeps its memory and leaves as they are.
  const Held& current() const { return current_; }
  const float* values() const { return current_->values(); }
  /// The current version's float32 [n], not copied. Any thread may read and release it.
  Buffer share() const;

  /// Leaves on the device that a forward computes with and a backward asks for, in the order of the
  /// layout: float32, or with kBf16 bfloat16, less those that are always_fp32. Made when first asked for.
  /// The owner's thread only.
  const std::vector<torch::Tensor>& weights(const Held& version) const;

  /// Calls write(from, to) once: from the current version to the next. `to` is `from` if nobody
  /// holds the current version. Throws std::bad_alloc before `write` is called.
  void change(const std::function<void(const float* from, float* to)>& write);
  uint64_t changes() const { return changes_; }

 private:
  Held make() const;

  const std::vector<ParameterInfo> layout_;
  const ComputeType compute_;
  const torch::Device device_;
  const uint64_t size_;
  uint64_t changes_ = 0;
  Held current_;
};

}  // namespace swarm::tensor
