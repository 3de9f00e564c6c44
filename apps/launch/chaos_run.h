/// A schedule of chaos while it is carried out: whom it hits, whom it spares, who comes back when.
/// Pure: time is an argument; the launcher carries the orders out. One owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/launch/chaos.h"

namespace swarm::launch {

/// What the launcher knows of the nodes when it asks.
struct ChaosFacts {
  std::set<std::string> down;       ///< Nodes whose process does not run or does not listen yet.
  std::string coordinator;          ///< Its node; empty while there is none.
  std::vector<int64_t> live_peers;  ///< By stage, when the last step closed; may be empty.
  /// The experiment with the stages that its nodes serve now. Empty: those of the file.
  std::function<config::Experiment()> as_served{};
};

struct ChaosOrder {
  enum class Kind {
    kHit,    ///< Do `action` to the node; it is entry `index` of the schedule.
    kSpare,  ///< Do nothing: the node is down, or the last of its kind. Entry `index`.
    kBack,   ///< Do `action`, which undoes the other, to a node that was hit.
  };
  Kind kind = Kind::kHit;
  std::string node;  ///< May be no node's name, with kSpare.
  config::TimelineAction action = config::TimelineAction::kKill;
  std::optional<size_t> index;
  bool as_coordinator = false;  ///< The schedule named the coordinator, not the node.
};

class ChaosRun {
 public:
  /// Takes chaos_schedule(experiment). `experiment` outlives this.
  explicit ChaosRun(const config::Experiment& experiment);

  bool empty() const { return schedule_.empty(); }

  /// The first `done` entries were carried out before a resume. Returns the time that is behind
  /// the run with them [s]. Call before the first due().
  double resume(size_t done);

  /// What is due at `now_s`, in this order: returns, then entries of the schedule. Times never go
  /// back [s since the first closed step].
  std::vector<ChaosOrder> due(double now_s, const ChaosFacts& facts);

  /// Nodes that were hit and are still to come back.
  std::set<std::string> returning() const;

 private:
  /// A node that was hit comes back at `due_s`, then counts as missing until `settled_s`.
  struct Return {
    double due_s = 0, settled_s = 0;
    config::TimelineAction action = config::TimelineAction::kStart;
    bool done = false;
  };

  ChaosOrder order(size_t index, double now_s, const ChaosFacts& facts);
  std::set<std::string> missing(double now_s, const ChaosFacts& facts) const;
  bool spared(const std::string& node, const std::set<std::string>& missing,
              const ChaosFacts& facts) const;

  const config::Experiment& experiment_;
  std::vector<ChaosEvent> schedule_;
  size_t next_ = 0;
  std::map<std::string, Return> returns_;  // by node
};

}  // namespace swarm::launch
