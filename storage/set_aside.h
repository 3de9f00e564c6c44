/// Damaged files and folders make room and are kept.
#pragma once

#include <string>

#include "common/result.h"

namespace swarm::storage {

/// Renames `path` to "PATH.damaged-TIME", with "-2" and so on behind if there is one; nothing is
/// deleted. Returns the new path. Errors: kIo.
Result<std::string> set_aside(const std::string& path, const std::string& time);

/// A database of RocksDB's without the file that says which of the others count: it would begin anew,
/// and delete them.
bool beheaded(const std::string& directory);

}  // namespace swarm::storage
