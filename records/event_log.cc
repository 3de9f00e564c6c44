#include "records/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "records/files.h"

namespace swarm::records {
namespace {

/// A file that is only appended to.
class LineFile {
 public:
  explicit LineFile(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  LineFile(LineFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~LineFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_open() const { return fd_ >= 0; }
  void append(const std::string& json) const {
    const std::string line = json + "\n";
    const ssize_t written =
        ::write(fd_, line.data(), line.size());  // O_APPEND: one line, one write
    static_cast<void>(written);  // a full disk must not stop training; the store reports it
  }

 private:
  int fd_;
};

class FileEventLog : public EventLog {
 public:
  FileEventLog(std::string node_name, LineFile events, LineFile metrics, LineFile audit)
      : node_name_(std::move(node_name)),
        events_(std::move(events)),
        metrics_(std::move(metrics)),
        audit_(std::move(audit)) {}

  void write(const Event& event) override {
    Event line = event;
    line.time_s = unix_now_s();
    line.node = node_name_;
    events_.append(to_json(line));
  }
  void metrics(const StepMetrics& metrics) override {
    StepMetrics line = metrics;
    line.time_s = unix_now_s();
    metrics_.append(to_json(line));
  }
  void closed(const ClosedStep& step) override { audit(step); }
  void committed(const CommittedStep& step) override { audit(step); }
  void loaded(const LoadedState& state) override { audit(state); }

 private:
  template <class Record>
  void audit(const Record& record) const {
    audit_.append(to_json(AuditLine{record, unix_now_s(), node_name_}));
  }

  const std::string node_name_;
  const LineFile events_, metrics_, audit_;
};

}  // namespace

Result<std::shared_ptr<EventLog>> open_event_log(const std::string& folder,
                                                 const std::string& node_name) {
  LineFile events(folder + "/events.jsonl");
  LineFile metrics(folder + "/metrics.jsonl");
  LineFile audit(folder + "/audit.jsonl");
  if (!events.is_open() || !metrics.is_open() || !audit.is_open())
    return Error{ErrorCode::kIo, "cannot write events in " + folder + ": " + std::strerror(errno)};
  return std::shared_ptr<EventLog>(std::make_shared<FileEventLog>(
      node_name, std::move(events), std::move(metrics), std::move(audit)));
}

size_t MemoryEventLog::count(const std::string& name) const {
  return static_cast<size_t>(std::count_if(events.begin(), events.end(),
                                           [&](const Event& event) { return event.name == name; }));
}

}  // namespace swarm::records
