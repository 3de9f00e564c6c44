/// A small file of one record that is replaced as a whole, and durable when write_kept() returns.
///
///   file = "SWKEPT01", the record, xxh64 of both (8 bytes, little-endian)
///
/// One writer at a time.
#pragma once

#include <string>

#include "common/result.h"

namespace swarm::storage {

/// Writes beside the file ("PATH.new") and renames: whoever reads, also after a crash of the machine,
/// finds the old record or the new. Errors: kIo (either may be there).
Status write_kept(const std::string& path, const std::string& record);

/// Errors: kNotFound (there is none), kCorruptCheckpoint (it is not what was written: set_aside()),
/// kIo.
Result<std::string> read_kept(const std::string& path);

}  // namespace swarm::storage
