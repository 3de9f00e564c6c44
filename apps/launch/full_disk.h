/// Full disks without a disk of one's own: nodes run with a library (apps/full_disk) that lets their
/// writes fail with ENOSPC while a mark lies in their folder.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::launch {

/// Whether the dynamic linker takes `library` as LD_PRELOAD, which it else only complains of and runs without.
/// Errors: kInvalidArgument.
Status can_preload(const std::string& library);

/// What the command line of a node begins with whose disk may be filled. Errors: kIo, as can_preload(), kNotFound, saying
/// where the library should be and how it comes there.
Result<std::vector<std::string>> full_disk_prefix(const std::string& node_folder);

/// From now on none of the node's writes to what lies in its folder succeeds, but those to its records
/// and logs; or all do again. Errors: kIo.
Status set_disk_full(const std::string& node_folder, bool full);

}  // namespace swarm::launch
