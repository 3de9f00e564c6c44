#include "actors/stage/sum_watch.h"

namespace swarm::actors {

/// Where every microbatch makes a local update no sum is ever at rest.
SumWatch SumWatch::of(const std::string& node, const TrainingOptions& training,
                      const StageServerOptions& options, const FaultOptions& faults) {
  auto fault = tensor::parse_bit_fault(faults.flip_bit);
  if (fault && fault->node != node) fault.reset();
  const bool rests = training.replicas_equal() || training.local_update_every > 1;
  return SumWatch(options.check_gradient_sum && rests, std::move(fault));
}

bool SumWatch::intact(tensor::Stage& stage, uint64_t epoch) {
  if (!checks_) return true;
  if (last_ && last_->epoch == epoch) return stage.memory().sum_checksum() == last_->checksum;
  stage.clear_gradients();
  return true;
}

void SumWatch::added(tensor::Stage& stage, uint64_t epoch, Step step) {
  const bool now = fault_ && fault_->step <= step.value();
  const bool unseen = now && fault_->part == tensor::StatePart::kContribution;
  if (unseen) stage.memory().flip_bit(fault_->part);
  if (checks_) last_ = Last{epoch, stage.memory().sum_checksum()};
  if (now && !unseen) stage.memory().flip_bit(fault_->part);
  if (now) fault_.reset();
}

}  // namespace swarm::actors
