/// What a learner knows of a peer that it asks (routing/state/learn_plan.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "routing/state/recent_means.h"
#include "routing/state/state_label.h"
#include "routing/time.h"

namespace swarm::routing {

/// Pure; not thread-safe; one owner.
struct LearnSource {
  static constexpr Time kNever = Time(-1);

  std::optional<StateLabel> newest;
  Time heard = kNever;  ///< Last time.
  Time retry_at{};
  uint32_t failures = 0;
  uint32_t in_flight = 0;
  /// Reads under way: as many as keep the way from it full. More only wait in its queue, where states
  /// grow old and means come late.
  double window = 2;
  std::set<StateLabel> lost;  ///< No mean that it keeps leads on from there.

  /// Whether it has, or will have, what follows the label. Requires `newest`.
  bool leads_on(const StateLabel& label) const {
    if (lost.count(label) != 0) return false;
    if (label.step > newest->step) return true;
    if (label.step == newest->step) return label == *newest;
    return newest->step.value() - label.step.value() <= RecentMeans::kKept;
  }

  /// A state was on its way for so long, after it had `waited` for the donor's device. Much longer
  /// than the quickest means that it stood in a queue. What waits for a device comes in bursts: a
  /// queue as long as that wait keeps the way full until the next.
  void adapt_window(Time took, Time waited, uint32_t most) {
    constexpr double kStep = 0.25;
    if (quickest == Time(0) || took < quickest) quickest = took;
    const bool queued = took > quickest + quickest / 4 + waited;
    window = std::clamp(window + (queued ? -kStep : kStep), 1.0, static_cast<double>(most));
  }
  Time quickest{};  ///< 0: none has come yet.
};

}  // namespace swarm::routing
