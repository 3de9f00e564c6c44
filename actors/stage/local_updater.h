/// Asynchronous mode, on the compute actor's thread: after a backward, the update that is due, and
/// how stale its gradients were (async paper, Sec. 3; docs/asynchronous.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/strong_id.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

/// What became of one microbatch's gradient.
struct LocalUpdates {
  /// Of every microbatch in the update: updates at this peer between its forward and this one.
  /// Empty: none was due.
  std::vector<uint64_t> staleness;
  std::optional<Error> refused;  ///< The update was not finite and was not made.
  uint64_t dropped = 0;  ///< Microbatches whose sum changed by itself: they are in no update.
};

/// Owned by a StageServer, used only inside its compute jobs, one at a time.
class LocalUpdater {
 public:
  /// `every`: microbatches of one update; >= 1.
  explicit LocalUpdater(uint32_t every) : every_(every) {}

  /// The gradient sum of `stage` now holds `samples` more, whose forward ran after `updates_before`
  /// updates. Updates at the learning rate of `lr_position` if enough are there.
  LocalUpdates added(tensor::Stage& stage, uint64_t samples, uint64_t updates_before,
                     Step lr_position);
  /// Updates with what is in the sum, though it is not enough; nothing if it is empty.
  LocalUpdates rest(tensor::Stage& stage, Step lr_position);
  /// What is in the sum is not what was added: it is cleared, and told with what comes next.
  void drop(tensor::Stage& stage);
  /// The sum was cleared.
  void clear();
  /// Its name: another one each time that it was cleared.
  uint64_t sum() const { return sum_; }
  /// Samples of all updates made.
  uint64_t trained() const { return trained_; }

 private:
  uint32_t every_;
  uint64_t samples_ = 0;
  uint64_t trained_ = 0;
  uint64_t sum_ = 0;
  uint64_t dropped_ = 0;            ///< That nobody was told of.
  std::vector<uint64_t> forwards_;  ///< updates_before of each microbatch in the sum.
};

}  // namespace swarm::actors
