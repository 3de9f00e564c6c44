/// One line per transition, "key=value" with units, through spdlog's default logger. Kept apart
/// because spdlog's headers cost seconds of compile time. Thread-safe.
#pragma once

#include <functional>
#include <string>

namespace swarm::actors {

void log_debug(const std::string& line);
void log_info(const std::string& line);
void log_warn(const std::string& line);
void log_error(const std::string& line);

/// Takes a line of the log as it was said, and as it is written: with time, level and node.
using TakeLogLine = std::function<void(const std::string& said, const std::string& line)>;

/// Sends the default logger to `take`, if there is any (one call at a time) and, from warnings on, to stderr. Level:
/// trace, debug, info, warn, error. Call once, before actors run.
void open_log(TakeLogLine take, const std::string& level, const std::string& node_name);

}  // namespace swarm::actors
