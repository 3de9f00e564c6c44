/// Which stage each of a node's places serves: as the node was told first, until the coordinator moves it.
/// Moves are kept in nodes/NAME/stages.json, so that a process that is started again goes on where the last
/// one was (docs/elastic.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::records {

/// Thread-safe; shared by the roles of a node. A negative stage: none yet.
class KeptStages {
 public:
  /// In memory only.
  explicit KeptStages(std::vector<int32_t> first) : first_(first), now_(std::move(first)) {}
  /// In `folder`. What lies there of another run (`run_id`), or was told first otherwise, does not count.
  KeptStages(const std::string& folder, const std::string& run_id, std::vector<int32_t> first);

  int32_t at(size_t place) const;
  std::vector<int32_t> all() const;
  /// Errors: kIo; then it is kept in memory.
  Status move(size_t place, int32_t stage);

 private:
  mutable std::mutex mutex_;
  std::vector<int32_t> first_, now_;
  std::string file_, run_id_;
};

/// What the node of that folder serves now, or `first` if nothing else is kept of this run.
std::vector<int32_t> read_kept_stages(const std::string& node_folder, const std::string& run_id,
                                      const std::vector<int32_t>& first);

}  // namespace swarm::records
