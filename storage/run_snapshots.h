/// The snapshots that a run's nodes left on disk, read while none of them runs.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "storage/checkpoint_store.h"

namespace swarm::storage {

struct StageSnapshot {
  std::string node;
  int32_t stage = 0;
  uint64_t step = 0;
  Buffer state;  ///< As Stage::save_state() made it.
};

/// What the nodes have of one step.
struct StepSnapshots {
  std::vector<StageSnapshot> found;     ///< Ordered by stage, then node; maybe none of a stage.
  std::vector<std::string> unreadable;  ///< "NODE: why" or "NODE: stage K: why", a line for each.
};

/// The databases of a run's nodes. Open as long as the object lives.
class RunSnapshots {
 public:
  /// A database that cannot be opened is left out, if there are others; read() names it.
  /// Errors: kNotFound (no databases), kNotReady (in use: the run goes on), kIo (none can be opened).
  static Result<RunSnapshots> open(const std::string& run_folder, int32_t num_stages);

  /// Steps of which any node has a snapshot of any stage, ascending.
  const std::set<uint64_t>& steps() const { return steps_; }
  /// Every node's snapshots at `step`.
  StepSnapshots read(uint64_t step) const;
  /// What else a node has of `step`, in that stream of its database. Errors: as CheckpointStore::get(); kNotFound
  /// (no such node).
  Result<Buffer> read(const std::string& node, const std::string& stream, uint64_t step) const;
  /// The newest step of which every stage has a snapshot; none is read for it. Errors: kNotFound.
  Result<uint64_t> newest_common_step() const;

 private:
  struct NodeStore {
    std::string node;
    std::shared_ptr<CheckpointStore> store;
  };
  int32_t num_stages_ = 0;
  std::vector<NodeStore> stores_;
  std::vector<std::string> unopened_;            ///< "NODE: why"
  std::set<uint64_t> steps_;                     ///< Of any stage.
  std::vector<std::set<uint64_t>> stage_steps_;  ///< By stage.
};

/// Every node's snapshots at `step`, at least one of each stage. Errors: kNotFound (no databases, or
/// a stage without one at this step), kNotReady (in use: the run goes on), kCorruptCheckpoint (a stage has
/// none that can be read).
Result<StepSnapshots> read_snapshots(const std::string& run_folder, int32_t num_stages,
                                     uint64_t step);

/// As RunSnapshots::newest_common_step(). Errors: kNotFound (also: no databases), kIo.
Result<uint64_t> newest_common_step(const std::string& run_folder, int32_t num_stages);

}  // namespace swarm::storage
