/// Damaged files and folders make room and are kept.
#pragma once

#include <string>

#include "common/result.h"

namespace swarm::storage {

/// Renames `path` to "PATH.damaged-TIME", with "-2" and so on behind if there is one; nothing is
/// deleted. Returns the new path. Errors: kIo.
Result<std::string> set_aside(const std::string& path, const std::string& time);

}  // namespace swarm::storage
