/// Error feedback: what a lossy codec took from a vector is added to the next one, so that over many
/// rounds nothing is lost but the last residual (Seide et al., 2014; Karimireddy et al., 2019).
///
/// A member of an averaging group has two: one of what it contributes, of all elements, and one of
/// the means of the part that it reduces, of those. A round reads the residual that is kept and
/// writes the next one; keep() once its mean was applied, give_up() if it was abandoned: the round
/// after that starts from the same residual. A residual is nobody's state but the member's: replicas
/// are equal without it, and who comes new to a stage begins with zeros.
///
/// Pure. Not thread-safe; one owner. Element by element: the same bits on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/options.h"
#include "tensor/core/stage.h"

namespace swarm::tensor {

class ErrorFeedback {
 public:
  /// For elements [first, first + count) of the vector from now on. Another range than before gives
  /// up an open round and drops the residual. Returns whether something that was not zero is lost
  /// that way, to be noted.
  bool cover(uint64_t first, uint64_t count);

  // In a round. Elements that none of these is called for keep their residual. A repetition gives
  // the same and changes nothing. Require [first, first + count) within what is covered.

  /// `values` [count] and their residual, encoded; what that loses is the next residual. What is
  /// not finite leaves none: such a round is given up by those who see it.
  EncodedTensor encode(uint64_t first, const float* values, uint64_t count, Codec codec);
  /// The same for numbers that are not encoded, such as a reducer's own: nothing is lost.
  /// `out` [count] may be `values`.
  void add(uint64_t first, const float* values, uint64_t count, float* out);

  /// The round counts: what it lost is what the next one adds. Without a round nothing happens.
  void keep();
  /// The round does not count: as if it had not been.
  void give_up();

  /// float32 [count of cover()], of the rounds that were kept; empty while all are zeros. What stands
  /// beside a snapshot.
  Buffer residual() const;
  /// What residual() gave, of the same cover(). Gives up an open round.
  /// Errors: kShapeMismatch (another size; nothing has changed), kNonFinite (likewise).
  Status restore(const Buffer& residual);

 private:
  /// For elements within what is covered; there is a round now.
  void open(uint64_t first, uint64_t count);
  const float* kept(uint64_t first) const { return kept_.data() + (first - first_); }
  float* next(uint64_t first) { return next_.data() + (first - first_); }

  uint64_t first_ = 0, count_ = 0;
  std::vector<float> kept_;  ///< [count_], or empty: zeros.
  std::vector<float> next_;  ///< [count_] in a round.
  bool open_ = false;        ///< There is a round.
};

}  // namespace swarm::tensor
