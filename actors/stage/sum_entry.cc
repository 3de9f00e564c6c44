#include "actors/stage/sum_entry.h"

#include <utility>

namespace swarm::actors {

SumEntry::SumEntry(bool adds, uint64_t epoch, Step step, std::shared_ptr<SumWatch> watch,
                   std::shared_ptr<LocalUpdater> updater)
    : adds_(adds),
      epoch_(epoch),
      step_(step),
      watch_(std::move(watch)),
      updater_(std::move(updater)) {}

bool SumEntry::begin(tensor::Stage& stage) {
  if (!adds_ || watch_->intact(stage, sum())) return adds_;
  changed_ = updater_ == nullptr;
  adds_ = !changed_;
  if (updater_) updater_->drop(stage);
  return adds_;
}

LocalUpdates SumEntry::added(tensor::Stage& stage, uint64_t samples, uint64_t updates_before) {
  if (!adds_) return {};
  watch_->added(stage, sum(), step_);
  return updater_ ? updater_->added(stage, samples, updates_before, step_) : LocalUpdates();
}

}  // namespace swarm::actors
