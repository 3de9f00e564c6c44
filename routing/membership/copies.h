/// Copies of a stage's snapshots on nodes of other stages, for the day when all nodes of the stage are
/// gone with their disks (docs/checkpoint_format.md, "Copies"): who holds them, what is copied next,
/// which may go.
///
/// Pure: time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/roster.h"
#include "routing/steps/history.h"
#include "routing/time.h"

namespace swarm::routing {

struct CopyNode {
  std::string name;
  std::set<Stage> serves;  ///< It holds no copies of these.
  std::set<Stage> has;     ///< Stages of whose snapshot it has a copy.
  bool takes = true;       ///< It may be given more.
};

/// By stage, places in `nodes`: `copies` of them, or all that may. First those that have a copy, then
/// those that hold the fewest; of equals rendezvous hashing of stage and name decides, so that few
/// copies move when a node comes or goes.
std::vector<std::vector<size_t>> choose_holders(const std::vector<CopyNode>& nodes,
                                                uint32_t num_stages, uint32_t copies);

struct CopyOrder {
  Stage stage;
  Step step;
  History history;              ///< 0: not known.
  std::vector<PeerId> sources;  ///< Some that have the snapshot on their disks; never empty.
};

/// For one peer.
struct CopyOrders {
  std::vector<CopyOrder> make;
  std::vector<Stage> drop;  ///< Others hold newer copies of these, or the same.
};

/// So that `copies` nodes have a copy of each stage's snapshot of `step`, which is durable in every
/// stage. By the peer that keeps its node's copies; nothing for a peer: nothing is to be done.
std::map<PeerId, CopyOrders> plan_copies(uint32_t copies, Step step, const Roster& roster);

/// One owner: the coordinator.
class CopyDesk {
 public:
  explicit CopyDesk(uint32_t copies) : copies_(copies) {}
  /// What `id` is told, as of the last second. `durable`: the newest step that is durable in every
  /// stage.
  CopyOrders orders(const PeerId& id, std::optional<Step> durable, const Roster& roster, Time now);

 private:
  uint32_t copies_;
  std::optional<Time> planned_at_;
  std::map<PeerId, CopyOrders> plan_;
};

}  // namespace swarm::routing
