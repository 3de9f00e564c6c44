/// The snapshots that a run's nodes left on disk, read while none of them runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"

namespace swarm::apps {

struct StageSnapshot {
  std::string node;
  int32_t stage = 0;
  uint64_t step = 0;
  Buffer state;  ///< As Stage::save_state() made it.
};

/// Every node's snapshots at `step`, ordered by stage, then node. Errors: kNotFound (no databases,
/// or a stage without one at this step), kIo (in use: the run goes on), kCorruptCheckpoint.
Result<std::vector<StageSnapshot>> read_snapshots(const std::string& run_folder, int32_t num_stages,
                                                  uint64_t step);

/// The newest step of which every stage has a snapshot. Errors: as above.
Result<uint64_t> newest_common_step(const std::string& run_folder, int32_t num_stages);

}  // namespace swarm::apps
