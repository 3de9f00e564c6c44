#include "actors/net/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace swarm::actors {

void log_debug(const std::string& line) { spdlog::debug("{}", line); }
void log_info(const std::string& line) { spdlog::info("{}", line); }
void log_warn(const std::string& line) { spdlog::warn("{}", line); }
void log_error(const std::string& line) { spdlog::error("{}", line); }

void open_log(const std::string& file, const std::string& level, const std::string& node_name) {
  auto to_stderr = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  to_stderr->set_level(spdlog::level::warn);
  std::vector<spdlog::sink_ptr> sinks{to_stderr};
  if (!file.empty()) sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file));
  auto logger = std::make_shared<spdlog::logger>(node_name, sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::from_str(level));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace swarm::actors
