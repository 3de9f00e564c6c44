#include "records/event_log.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "common/repeats.h"
#include "records/audit_fold.h"
#include "records/files.h"

namespace swarm::records {
namespace {

using LineFile = std::unique_ptr<SegmentedFile>;

/// Readers count them line by line: the audit, or who asks who leads.
bool every_line_counts(const Event& event) {
  return event.is<Recompute>() || event.is<SumDropped>() || event.is<RoundAbandoned>() ||
         event.is<Recovered>() || event.is<ReplicaReplaced>() || event.is<Minority>() ||
         event.is<ConfigurationHolds>() || event.is<CoordinatorActive>() || event.is<RunFinished>();
}

class FileEventLog : public EventLog {
 public:
  FileEventLog(std::string node_name, LostLines all_lost, LineFile events, LineFile metrics,
               LineFile audit)
      : node_name_(std::move(node_name)),
        all_lost_(std::move(all_lost)),
        events_(std::move(events)),
        metrics_(std::move(metrics)),
        audit_(std::move(audit)) {}
  ~FileEventLog() override { tell_repeated(unix_now_s(), true); }

  void write(const Event& event) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const double now_s = unix_now_s();
    tell_repeated(now_s, false);
    Event what = event;
    what.time_s = 0;
    what.node.clear();
    if (every_line_counts(event) || repeats_.take(to_json(what), event.name, now_s))
      append(events_, line_of(event, now_s));
    if (is_audited(event)) append_audit({stamped(event, now_s), now_s, node_name_});
  }
  void metrics(const StepMetrics& metrics) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    StepMetrics line = metrics;
    line.time_s = unix_now_s();
    append(metrics_, to_json(line));
  }
  void closed(const ClosedStep& step) override { audit(step); }
  void committed(const CommittedStep& step) override { audit(step); }
  void loaded(const LoadedState& state) override { audit(state); }

 private:
  template <class Record>
  void audit(const Record& record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    append_audit({record, unix_now_s(), node_name_});
  }

  void append_audit(const AuditLine& line) {
    append(audit_, to_json(line));
    if (const auto refusal = audit_->take_refusal())
      append(events_, line_of(make_event(-1, -1, AuditFoldRefused{*refusal}), unix_now_s()));
  }

  Event stamped(Event event, double now_s) const {
    event.time_s = now_s;
    event.node = node_name_;
    return event;
  }
  std::string line_of(const Event& event, double now_s) const {
    return to_json(stamped(event, now_s));
  }

  /// A full disk must not stop training: what it does not take is told when it takes something again.
  void append(const LineFile& file, const std::string& line) {
    if (!file->append(line)) {
      ++lost_;
      add_lost_line(all_lost_);
      return;
    }
    if (lost_ == 0) return;
    const Event lost = make_event(-1, -1, LinesLost{lost_});
    if (events_->append(line_of(lost, unix_now_s()))) lost_ = 0;
  }

  void tell_repeated(double now_s, bool all) {
    for (const auto& held : repeats_.told(now_s, all))
      append(events_, line_of(make_event(-1, -1, Repeated{held.label, held.times}), now_s));
  }

  const std::string node_name_;
  const LostLines all_lost_;
  std::mutex mutex_;  // of all that follows
  const LineFile events_, metrics_, audit_;
  Repeats repeats_;
  uint64_t lost_ = 0;  // lines, not told yet
};

}  // namespace

Result<std::shared_ptr<EventLog>> open_event_log(const std::string& folder,
                                                 const std::string& node_name,
                                                 const SegmentLimits& limits,
                                                 const SegmentLimits& audit_limits,
                                                 LostLines lost) {
  auto events = SegmentedFile::open(folder + "/events.jsonl", limits),
       metrics = SegmentedFile::open(folder + "/metrics.jsonl", limits),
       audit = SegmentedFile::open(folder + "/audit.jsonl", audit_limits);
  for (const auto* file : {&events, &metrics, &audit})
    if (!*file) return file->error();
  return std::shared_ptr<EventLog>(std::make_shared<FileEventLog>(
      node_name, std::move(lost), std::move(*events), std::move(*metrics), std::move(*audit)));
}

size_t MemoryEventLog::count(const std::string& name) const {
  return static_cast<size_t>(std::count_if(events.begin(), events.end(),
                                           [&](const Event& event) { return event.name == name; }));
}

}  // namespace swarm::records
