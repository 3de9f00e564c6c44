#include "actors/net/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <utility>

namespace swarm::actors {
namespace {

/// Hands each line on.
class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LineSink(TakeLogLine take) : take_(std::move(take)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (line.size() > 0 && line[line.size() - 1] == '\n') line.resize(line.size() - 1);
    take_({message.payload.data(), message.payload.size()}, {line.data(), line.size()});
  }
  void flush_() override {}

  const TakeLogLine take_;
};

}  // namespace

void log_debug(const std::string& line) { spdlog::debug("{}", line); }
void log_info(const std::string& line) { spdlog::info("{}", line); }
void log_warn(const std::string& line) { spdlog::warn("{}", line); }
void log_error(const std::string& line) { spdlog::error("{}", line); }

void open_log(TakeLogLine take, const std::string& level, const std::string& node_name) {
  auto to_stderr = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  to_stderr->set_level(spdlog::level::warn);
  std::vector<spdlog::sink_ptr> sinks{to_stderr};
  if (take) sinks.push_back(std::make_shared<LineSink>(std::move(take)));
  auto logger = std::make_shared<spdlog::logger>(node_name, sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::from_str(level));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n %v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace swarm::actors
