/// Which node is killed, stopped, paused, cut off or has no room on its disk when: a schedule drawn from a
/// seed. Pure.
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
  double down_for_s = 0;  ///< From the blow until what undoes() it is due.
  bool spares = true;     ///< Not carried out on the last of a kind; see spare_last.
};

/// The schedule of [chaos] and of the nodes' preempt_every_s, in order of time. It holds only
/// kKill, kPause, kStop, kCut and kFullDisk: a node that is hit comes back after down_for_s.
///
/// Preemptions ignore [chaos] and one another and spare nobody; each falls into its window early
/// enough that the node is back before the window ends. [chaos] strikes once per kind and window,
/// at a random moment, a node drawn evenly from the targets that are up then by this schedule. With
/// spare_last, a window stays empty if every candidate is the last of its kind. The coordinator is
/// one more target, of a kind of its own.
///
/// every_s draws one fault a window, in its first half. As many windows as there are kinds have each
/// kind once, in a drawn order. Disks of nodes with a stage only are filled, since no other has a
/// database.
std::vector<ChaosEvent> chaos_schedule(const config::Experiment& experiment);

/// With spare_last: would taking `node` leave a stage without a peer, or no trainer, when those in
/// `missing` do not count? The schedule cannot know who the coordinator is, nor who died alone.
bool is_last(const config::Experiment& experiment, const std::set<std::string>& missing,
             const std::string& node);

/// With spare_last: would a cut of one more node leave no majority of the peers and trainers, when those in
/// `missing` do not count?
bool cuts_majority(const config::Experiment& experiment, const std::set<std::string>& missing);

/// What brings a node back from `action`.
config::TimelineAction undoes(config::TimelineAction action);

}  // namespace swarm::launch
