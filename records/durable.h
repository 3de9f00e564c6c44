/// What is on the disk, and what of it is whole.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"

namespace swarm::records {

/// Returns when what was written to the file, or what a folder lists, survives a machine crash.
/// Errors: kIo.
Status sync_to_disk(const std::string& path);

/// A file's size without a last line that has no end: its writer died in it. Errors: kNotFound, kIo.
Result<uint64_t> whole_lines_bytes(const std::string& path);

}  // namespace swarm::records
