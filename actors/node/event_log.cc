#include "actors/node/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/hex.h"

namespace swarm::actors {
namespace {

double unix_now_s() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count() / 1000.0;
}

/// JSON has no infinities: they become null.
nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

std::string name_of(const PeerId& peer) { return peer.node.hex() + "/" + peer.actor; }

nlohmann::ordered_json json_of(const HeldSlots& held) {
  return {{"peer", name_of(held.peer)},
          {"node", held.node_name},
          {"slots", held.slots},
          {"attempts", held.attempts}};
}

class FileEventLog : public EventLog {
 public:
  FileEventLog(std::string node_name, int events_fd, int metrics_fd, int audit_fd)
      : node_name_(std::move(node_name)),
        events_fd_(events_fd),
        metrics_fd_(metrics_fd),
        audit_fd_(audit_fd) {}
  ~FileEventLog() override {
    ::close(events_fd_);
    ::close(metrics_fd_);
    ::close(audit_fd_);
  }

  void record(const Event& event) override {
    nlohmann::ordered_json line;
    line["time"] = unix_now_s();
    line["event"] = event.name;
    line["node"] = node_name_;
    if (event.stage >= 0) line["stage"] = event.stage;
    if (event.step >= 0) line["step"] = event.step;
    if (!event.detail.empty()) line["detail"] = event.detail;
    append(events_fd_, line);
  }

  void write(const records::Event& event) override {
    records::Event line = event;
    line.time_s = unix_now_s();
    line.node = node_name_;
    append(events_fd_, to_json(line) + "\n");
  }

  void metrics(const StepMetrics& m) override {
    nlohmann::ordered_json line;
    line["step"] = m.step;
    line["time"] = unix_now_s();
    line["train_loss"] = number(m.train_loss);
    line["tokens"] = m.tokens;
    line["tokens_per_second"] = number(m.tokens_per_second);
    line["seconds"] = number(m.seconds);
    line["live_peers"] = m.live_peers;
    line["bytes_sent"] = {{"control", m.bytes_sent[0]},
                          {"gradients", m.bytes_sent[1]},
                          {"activations", m.bytes_sent[2]},
                          {"state", m.bytes_sent[3]}};
    if (m.validation_loss) line["validation_loss"] = number(*m.validation_loss);
    line["gradient_norm"] = number(m.gradient_norm);
    line["slots"] = m.slots;
    line["attempts"] = m.attempts;
    line["term"] = m.term;
    for (const StageStaleness& stage : m.staleness) {
      auto& list = line["staleness"];
      if (stage.histogram.empty())
        list.push_back(nullptr);
      else
        list.push_back({{"mean", stage.mean}, {"max", stage.max}, {"histogram", stage.histogram}});
    }
    append(metrics_fd_, line);
  }

  void closed(const ClosedStep& step) override {
    nlohmann::ordered_json line;
    line["kind"] = "closed";
    line["time"] = unix_now_s();
    line["node"] = node_name_;
    line["step"] = step.step;
    line["term"] = step.term;
    line["computed_on"] = step.computed_on;
    line["slots"] = step.slots;
    line["samples"] = step.samples;
    line["first_sample"] = step.first_sample;
    line["microbatch"] = step.microbatch;
    line["attempts"] = step.attempts;
    line["skipped"] = step.skipped;
    line["stages"] = nlohmann::ordered_json::array();
    for (const auto& stage : step.stages) {
      auto members = nlohmann::ordered_json::array();
      for (const auto& member : stage.members) members.push_back(json_of(member));
      line["stages"].push_back(
          {{"round", stage.round}, {"digest", hex(stage.digest)}, {"members", members}});
    }
    append(audit_fd_, line);
  }

  void committed(const CommittedStep& step) override {
    nlohmann::ordered_json line;
    line["kind"] = "committed";
    line["time"] = unix_now_s();
    line.update(json_of(step.held));
    line["step"] = step.step;
    line["stage"] = step.stage;
    line["round"] = step.round;
    line["digest"] = hex(step.digest);
    line["checksum"] = hex(step.checksum);
    append(audit_fd_, line);
  }

  void loaded(const LoadedState& state) override {
    nlohmann::ordered_json line;
    line["kind"] = "loaded";
    line["time"] = unix_now_s();
    line["peer"] = name_of(state.peer);
    line["node"] = state.node_name;
    line["stage"] = state.stage;
    line["step"] = state.step;
    line["checksum"] = hex(state.checksum);
    line["source"] = state.source;
    append(audit_fd_, line);
  }

 private:
  static void append(int fd, const nlohmann::ordered_json& line) {
    append(fd, line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  static void append(int fd, const std::string& text) {
    ssize_t written = ::write(fd, text.data(), text.size());  // O_APPEND: one line, one write
    static_cast<void>(written);  // a full disk must not stop training; the store reports it
  }

  std::string node_name_;
  int events_fd_, metrics_fd_, audit_fd_;
};

}  // namespace

Result<std::shared_ptr<EventLog>> open_event_log(const std::string& folder,
                                                 const std::string& node_name) {
  auto open_one = [&](const char* file) {
    return ::open((folder + "/" + file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  };
  int events_fd = open_one("events.jsonl");
  int metrics_fd = open_one("metrics.jsonl");
  int audit_fd = open_one("audit.jsonl");
  if (events_fd < 0 || metrics_fd < 0 || audit_fd < 0)
    return Error{ErrorCode::kIo, "cannot write events in " + folder + ": " + std::strerror(errno)};
  return std::shared_ptr<EventLog>(new FileEventLog(node_name, events_fd, metrics_fd, audit_fd));
}

size_t MemoryEventLog::count(const std::string& name) const {
  return std::count_if(events.begin(), events.end(),
                       [&](const Event& e) { return e.name == name; });
}

}  // namespace swarm::actors
