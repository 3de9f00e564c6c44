/// One line per transition, "key=value" with units, through spdlog's default logger. Kept apart
/// because spdlog's headers cost seconds of compile time. Thread-safe.
#pragma once

#include <string>

namespace swarm::actors {

void log_debug(const std::string& line);
void log_info(const std::string& line);
void log_warn(const std::string& line);
void log_error(const std::string& line);

/// Sends the default logger to `file` (appending) and, from warnings on, to stderr. Level: trace,
/// debug, info, warn, error. Call once, before actors run.
void open_log(const std::string& file, const std::string& level, const std::string& node_name);

}  // namespace swarm::actors
