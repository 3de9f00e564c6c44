/// Optimizers: types of their own over flat float32 vectors, each fused into one pass. No LibTorch.
///
/// A new optimizer is a file in tensor/optimizers/, a row in tensor/optimizers.cc, and its
/// counterpart in LibTorch's operations with a row in tensor/reference/reference_optimizer.cc.
///
/// The learning rate's position in its schedule is the caller's: the step in synchronous training,
/// the averaging period in asynchronous. t and P are the optimizer's own: a peer counts its own
/// updates. The same calls give the same bits on every machine and for every split into threads.
///
/// A layer-wise optimizer (LAMB) multiplies each matrix's update by a factor that depends on all
/// elements of that matrix. step() works the factors out; whoever makes the update range by range has
/// to be told them.
/// Thread: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/layout.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

/// What an optimizer remembers besides its moments.
struct OptimizerCounters {
  uint64_t updates = 0;         ///< t
  double momentum_product = 1;  ///< Product of all momenta so far; 1 where momentum is constant.
};

/// No optimizer of this kind counts like that, or so far that a double could not. Says why.
/// Errors: kCorruptCheckpoint.
Status check_counters(OptimizerKind kind, const OptimizerCounters& counters);

/// Runs body(from, to) over disjoint parts that make up [0, n), perhaps on several threads.
using ParallelBody = std::function<void(size_t from, size_t to)>;
using ParallelFor = std::function<void(size_t n, const ParallelBody& body)>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of all parameters with gradient * gradient_scale, at the learning rate of
  /// `lr_position` (0-based). `from`, `to`, `gradient`: float32 [size()]; `to` is `from` or does
  /// not overlap it. Requires finite gradients (a NaN would stay in the moments).
  void step(const float* gradient, uint64_t lr_position, double gradient_scale, const float* from,
            float* to);

  /// The update that step() makes of elements [first, first + count), for an optimizer that has
  /// counted `before` so far. `gradient`: float32 [count]; `values`: float32 [size()]; `factors`: what
  /// factors() is where step() made the update. Where all ranges have been updated the bits are those
  /// of one step(), whatever the order. Moves counters() on from `before`; factors() stay. Errors:
  /// as check_factors(); then nothing has changed.
  Status step_range(uint64_t first, uint64_t count, const OptimizerCounters& before,
                    const std::vector<float>& factors, const float* gradient, uint64_t lr_position,
                    double gradient_scale, float* values);

  /// Of the last step(), of a layer-wise optimizer: one for each matrix, in the order of the layout.
  /// Else empty.
  const std::vector<float>& factors() const { return factors_; }
  /// No step() of this optimizer has these. Errors: kShapeMismatch, kNonFinite.
  Status check_factors(const std::vector<float>& factors) const;

  OptimizerKind kind() const { return options_.kind; }
  uint64_t size() const { return size_; }  ///< Parameters.
  const OptimizerCounters& counters() const { return counters_; }

  /// float32 [info().moments.size(), size()], one moment behind the other; may be averaged with
  /// others'.
  float* moments() { return reinterpret_cast<float*>(moments_.data()); }
  const float* moments() const { return reinterpret_cast<const float*>(moments_.data()); }
  uint64_t moments_bytes() const { return num_moments_ * size_ * sizeof(float); }

  /// As before the first update.
  void reset();
  /// The moments stay as they are. Errors: as check_counters(); then nothing has changed.
  Status set_counters(const OptimizerCounters& counters);
  /// Goes on bit for bit from counters() and moments_bytes() of moments() (maybe unaligned) taken
  /// from an equal optimizer. Errors: as check_counters(); then nothing has changed.
  Status restore(const OptimizerCounters& counters, const void* moments);

 protected:
  Optimizer(const OptimizerOptions& options, const std::vector<ParameterInfo>& layout,
            ParallelFor parallel);

  /// Counts the update and works out its rates, equal for all parameters.
  virtual void begin(double learning_rate, double gradient_scale) = 0;
  /// Updates n elements, whose gradients, values and moments begin where the pointers point. `factor`
  /// is 1 unless the optimizer is layer-wise.
  virtual void run(float weight_decay, float factor, const float* gradient, const float* from,
                   float* to, float* const* moments, size_t n) const = 0;
  /// Layer-wise: the update that run() would make of them with a factor and a learning rate of 1.
  virtual void measure(float weight_decay, const float* gradient, const float* from,
                       const float* const* moments, float* update, size_t n) const;

  const OptimizerOptions options_;
  OptimizerCounters counters_;

 private:
  struct Range {
    uint64_t offset = 0, size = 0;
    bool decayed = false;
    size_t factor = 0;  // its place in factors_, if it has one
  };
  bool has_factor(const Range& range) const { return layer_wise_ && range.decayed; }
  float decay_of(const Range& range) const {
    return range.decayed ? static_cast<float>(options_.weight_decay) : 0;
  }
  float factor_of(const Range& range, const float* gradient, const float* from) const;
  /// The elements of [first, first + count); pointers to element 0, gradient to element `first`.
  void run_ranges(uint64_t first, uint64_t count, const std::vector<float>& factors,
                  const float* gradient, const float* from, float* to);

  const bool layer_wise_;
  std::vector<Range> ranges_;  // neighbours that are treated alike, joined
  std::vector<float> factors_;
  uint64_t size_ = 0;
  size_t num_moments_ = 0;
  MutableBuffer moments_;
  ParallelFor parallel_;
};

/// One of the vectors that an optimizer keeps, with an element for each parameter.
struct MomentInfo {
  const char* name;     ///< As people read it, with a '_' for each space, e.g. "first_moments".
  bool never_negative;  ///< Such as a mean of squares: what averaging makes negative becomes 0.
};

/// A row of the table in tensor/optimizers.cc.
struct OptimizerInfo {
  const char* name;  ///< In the configuration and in snapshots.
  std::vector<MomentInfo> moments;
  bool has_momentum_product;  ///< OptimizerCounters::momentum_product is its own, below 1.
  bool layer_wise;            ///< It has factors().
  std::unique_ptr<Optimizer> (*make)(const OptimizerOptions& options,
                                     const std::vector<ParameterInfo>& layout,
                                     ParallelFor parallel);
};
/// Requires a kind that is a row of the table.
const OptimizerInfo& optimizer_info(OptimizerKind kind);
const char* to_string(OptimizerKind kind);  ///< Its name.
/// The kind of that name; nothing if no row has it.
std::optional<OptimizerKind> find_optimizer(const std::string& name);

/// The optimizer that options.kind names, before its first update. Without `parallel`, everything
/// runs on the calling thread. Requires valid options.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const std::vector<ParameterInfo>& layout,
                                          ParallelFor parallel = {});

}  // namespace swarm::tensor
