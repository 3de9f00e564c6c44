/// What the coordinator of a replayed swarm sees, as late as reports are, and what it decides: the real policy
/// (routing/membership/placement.h). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/bench/figures/churn_replay.h"
#include "common/mix.h"
#include "routing/membership/placement.h"

namespace swarm::apps {

class ChurnCoordinator {
 public:
  struct Move {
    uint32_t node = 0, to = 0;
    bool is_new = false;
  };
  /// It looks so often, and hears from each peer at every third time.
  static constexpr double kLook_s = 10;
  static constexpr uint32_t kReportEvery = 3;
  /// What a peer says that it needs for a microbatch is wrong by up to this much, each time anew.
  static constexpr double kNoise = 0.1;

  ChurnCoordinator(uint32_t stages, const ReplayOptions& options);

  void waits(uint32_t node);
  void learns(uint32_t node, uint32_t stage);
  void serves(uint32_t node, double now_s);
  void gone(uint32_t node);

  /// `serving`: peers by stage, of which the smallest gives the pace.
  std::vector<Move> look(const std::vector<uint32_t>& serving, double now_s);
  /// Asked when it has nothing left to do. If not, it stays.
  bool may_leave(uint32_t node, double now_s);

 private:
  /// Where it is in view_.peers, or would be.
  size_t place_of(uint32_t node) const;
  bool is_here(size_t place, uint32_t node) const {
    return place < nodes_.size() && nodes_[place] == node;
  }
  void hear(const std::vector<uint32_t>& serving, double now_s);
  bool is_time(double now_s) const;

  const ReplayOptions options_;
  routing::Placement placement_;
  routing::PlacementView view_;
  std::vector<uint32_t> nodes_;  ///< Of view_.peers, ascending.
  std::vector<uint32_t> waiting_;
  std::vector<uint32_t> here_;  ///< Peers by stage, learners too.
  uint32_t looks_ = 0;
  SplitMix64 noise_;
};

}  // namespace swarm::apps
