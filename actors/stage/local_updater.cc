#include "actors/stage/local_updater.h"

#include <utility>

namespace swarm::actors {

LocalUpdates LocalUpdater::added(tensor::Stage& stage, uint64_t samples, uint64_t updates_before,
                                 Step lr_position) {
  samples_ += samples;
  forwards_.push_back(updates_before);
  if (forwards_.size() >= every_) return rest(stage, lr_position);
  LocalUpdates result;
  result.dropped = std::exchange(dropped_, 0);
  return result;
}

LocalUpdates LocalUpdater::rest(tensor::Stage& stage, Step lr_position) {
  LocalUpdates result;
  result.dropped = std::exchange(dropped_, 0);
  if (forwards_.empty()) return result;
  auto updated = stage.apply_local(samples_, lr_position.value());
  if (updated) {
    trained_ += samples_;
    for (uint64_t forward : forwards_) result.staleness.push_back(updated->updates - 1 - forward);
  } else {
    result.refused = updated.error();
  }
  clear();
  return result;
}

void LocalUpdater::drop(tensor::Stage& stage) {
  dropped_ += forwards_.size();
  stage.clear_gradients();
  clear();
}

void LocalUpdater::clear() {
  ++sum_;
  samples_ = 0;
  forwards_.clear();
}

}  // namespace swarm::actors
