/// The folder that a run is collected into: marked as such, with the run's id, before anything else is
/// written there (docs/collecting.md).
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"

namespace swarm::launch {

/// Makes the folder, or takes up one that a former call made. A folder with nodes in it that was not
/// made by collecting is somebody's run: nothing is mixed into it. Errors: kInvalidArgument, kIo.
Status prepare_collected_folder(const std::string& folder);

/// The id of the run that is collected there; empty: not known yet.
std::string run_of_collected_folder(const std::string& folder);
/// Errors: kIo.
Status set_run_of_collected_folder(const std::string& folder, const std::string& run_id);

/// All of the run is there, up to its end after so many steps; 0: not known to be.
uint64_t end_of_collected_run(const std::string& folder);
/// Errors: kIo.
Status set_end_of_collected_run(const std::string& folder, uint64_t steps);

/// Why a run's records are not collected there; empty: they are.
std::string other_run(const std::string& folder, const std::string& run_there,
                      const std::string& run_id);

/// Whether all that a node had when it was fetched last is in nodes/NAME/: marked while it is not.
/// Errors of mark_part: kIo.
bool is_whole(const std::string& node_folder);
Status mark_part(const std::string& node_folder);
Status mark_whole(const std::string& node_folder);

}  // namespace swarm::launch
