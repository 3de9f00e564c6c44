/// Error feedback: what a lossy codec took from a vector is added to the next one, so that over many
/// rounds nothing is lost but the last residual (Seide et al., 2014; Karimireddy et al., 2019).
///
/// A member of an averaging group has two residuals: one of what it contributes, of all elements, and one of
/// the means of the part that it reduces, of those. A round reads both and makes the next ones; they take
/// their place if its mean was applied, and are forgotten if it was given up: the round after that starts from
/// the same. A residual is nobody's state but the member's: replicas are equal without it, and who comes
/// new to a stage begins with zeros.
///
/// Pure. Not thread-safe; one owner. Element by element: the same bits on every machine.
#pragma once

#include <cstdint>

#include "common/buffer.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"

namespace swarm::tensor {

/// What encoding took from elements [first, first + count()) of a vector; nothing from all others.
struct Residual {
  uint64_t first = 0;
  Buffer values{};  ///< float32 [count()]; aligned.
  uint64_t count() const { return values.size() / sizeof(float); }
};

/// Of a member of an averaging group.
struct Residuals {
  Residual contribution;  ///< Of its sums.
  Residual mean;          ///< Of the means that it made.
};

/// The 2-norm of what `residual` has outside of elements [first, first + count).
double norm_outside(const Residual& residual, uint64_t first, uint64_t count);
/// The 2-norm of all of it.
double norm(const Residual& residual);

/// Of one round.
class ErrorFeedback {
 public:
  /// Of elements [first, first + count); `before` is what the rounds so far have lost. What that has of
  /// others is left out: norm_outside() tells how much.
  ErrorFeedback(uint64_t first, uint64_t count, Residual before);

  // Elements that none of these is called for keep what they have lost. A repetition gives the same and
  // changes nothing. Require [first, first + count) within what it is of.

  /// `values` [count] and what was lost of them, encoded; what that loses is the next residual. What is
  /// not finite leaves none: such a round is given up by those who see it. `arrived` [count]: what
  /// the others decode; may be `values`, or null.
  EncodedTensor encode(uint64_t first, const float* values, uint64_t count, Codec codec,
                       float* arrived = nullptr);
  /// The same for numbers that are not encoded, such as a reducer's own: nothing is lost.
  /// `out` [count] may be `values`.
  void add(uint64_t first, const float* values, uint64_t count, float* out);

  /// For the next round, if this one counts. What is encoded afterwards changes nothing any more.
  Residual next();

 private:
  /// Sets `out` [count] to what was lost of elements from `first` on.
  void lost_before(uint64_t first, uint64_t count, float* out) const;
  /// Of elements from `first` on, to write to.
  float* next_at(uint64_t first, uint64_t count);

  uint64_t first_, count_;
  Residual before_;
  MutableBuffer next_;    ///< [count_], once something was encoded or added.
  bool settled_ = false;  ///< next() was called.
};

}  // namespace swarm::tensor
