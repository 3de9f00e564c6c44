/// How one microbatch's gradient enters the sum, as a compute job has it.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/stage/local_updater.h"
#include "actors/stage/sum_watch.h"
#include "common/strong_id.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

/// On the compute actor's thread: begin(), the backward, added().
class SumEntry {
 public:
  /// `adds`: it is to enter. `updater`: of local updates, whose sum it is then; else that of `epoch`, which
  /// waits for the end of its step.
  SumEntry(bool adds, uint64_t epoch, Step step, std::shared_ptr<SumWatch> watch,
           std::shared_ptr<LocalUpdater> updater);

  /// Looks the sum over; whether the backward adds to it. One that has changed by itself takes nothing in and
  /// is for its owner to drop; that of local updates is dropped at once, and begins anew.
  bool begin(tensor::Stage& stage);
  bool sum_changed() const { return changed_; }
  /// The backward is done, of `samples`, whose forward ran after `updates_before` updates: what became of the
  /// local update. Nothing if it does not add.
  LocalUpdates added(tensor::Stage& stage, uint64_t samples, uint64_t updates_before);

 private:
  uint64_t sum() const { return updater_ ? updater_->sum() : epoch_; }

  bool adds_;
  uint64_t epoch_;
  Step step_;
  std::shared_ptr<SumWatch> watch_;
  std::shared_ptr<LocalUpdater> updater_;
  bool changed_ = false;
};

}  // namespace swarm::actors
