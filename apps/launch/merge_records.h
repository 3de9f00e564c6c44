/// Makes an ordinary run folder (docs/run_folder.md) of a folder with its nodes' files: config.toml,
/// the merged metrics, events and audit, summary.json. Then audit, verify, report and sample work on it.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::launch {

struct MergedRun {
  uint64_t steps = 0, steps_closed = 0;
  bool finished = false;
  std::vector<std::string> nodes;  ///< That the experiment names.
  std::vector<std::string> notes;  ///< For people: damaged lines and the like.
};

/// Merges FOLDER/nodes/*, lines that were kept of files begun anew included; what a former merge wrote is replaced. Memory: the events and metrics of a
/// run; of the audit a line. Errors: kNotFound (no node's records), kInvalidArgument (nodes of
/// several runs; a config.toml with errors), kIo.
Result<MergedRun> merge_records(const std::string& folder);

}  // namespace swarm::launch
