/// Small files read and written as a whole, and the clock that the records' times are of.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "common/result.h"

namespace swarm::records {

/// Unix time in seconds, to the microsecond.
double unix_now_s();

/// Errors: kNotFound, kIo.
Result<std::string> read_file(const std::string& path);

/// Writes a temporary file and renames it: readers see the old content or the new. Errors: kIo.
Status write_atomically(const std::string& path, const std::string& content);
/// The same for what is too large to be held.
Status write_atomically(const std::string& path, const std::function<void(std::ostream&)>& write);

/// One write(2) of a line to a file that only this process appends to. Errors: kIo.
Status append_line(const std::string& path, const std::string& line);
/// Removes a last line without an end: its writer died in it. A missing file is fine. Errors: kIo.
Status drop_torn_end(const std::string& path);

}  // namespace swarm::records
