/// Which node is killed, paused and started when: a schedule drawn from a seed. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace swarm::launch {

/// Whoever is the coordinator when the time comes.
extern const char* const kTheCoordinator;

struct ChaosEvent {
  double at_s = 0;  ///< Since the first closed step.
  config::TimelineAction action = config::TimelineAction::kKill;
  std::string node;       ///< A name of [[nodes]], or kTheCoordinator.
  double down_for_s = 0;  ///< Of a kill or pause: until the node's start or resume is due.
  bool spares = true;     ///< Whoever turns out to be the last of its kind; see spare_last.
};

/// In the order of time; only kKill, kPause and kStop: what they take comes back after down_for_s.
/// Of [chaos] and of the nodes' preempt_every_s, which take no heed of one another nor spare
/// anybody; each falls into its window so that the node is back before the window ends. Of [chaos]:
/// One of each kind falls at a random moment of each of its windows, on a node drawn evenly from
/// the targets that are up at that time by this schedule. With spare_last a window in which
/// everybody left is the last of its kind stays empty. The coordinator is one more target, of its
/// own.
std::vector<ChaosEvent> chaos_schedule(const config::Experiment& experiment);

/// With spare_last: would taking `node` leave a stage without a peer, or no trainer, when those in
/// `missing` do not count? The schedule cannot know who the coordinator is, nor who died alone.
bool is_last(const config::Experiment& experiment, const std::set<std::string>& missing,
             const std::string& node);

}  // namespace swarm::launch
