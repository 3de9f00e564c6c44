/// A node's own record of what happened: events.jsonl, metrics.jsonl and audit.jsonl
/// (docs/run_folder.md), in bounded room. Events by
/// which the audit judges stand in both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "records/audit.h"
#include "records/catalogue.h"
#include "records/lost_lines.h"
#include "records/metrics.h"
#include "records/segmented_file.h"

namespace swarm::records {

/// Thread-safe. Each line is one write(2), so that a reader never sees a torn line after a kill.
/// Lines that a full disk does not take are counted, and told (`lines_lost`) once it does; of events
/// that say the same again and again the rest is told as a number (`repeated`).
class EventLog {
 public:
  virtual ~EventLog() = default;
  /// An event of the catalogue. -1: no stage, no step.
  template <class T>
  void record(int64_t stage, int64_t step, const T& event) {
    write(make_event(stage, step, event));
  }
  /// Fills in the time and the node.
  virtual void write(const Event& event) = 0;
  virtual void metrics(const StepMetrics& line) = 0;
  virtual void closed(const ClosedStep& step) = 0;
  virtual void committed(const CommittedStep& step) = 0;
  virtual void loaded(const LoadedState& state) = 0;
};

/// Appends to events.jsonl and metrics.jsonl of `folder`, `limits` each, and to its audit.jsonl. Counts
/// lost lines of all three in `lost` too. Errors: kIo.
Result<std::shared_ptr<EventLog>> open_event_log(
    const std::string& folder, const std::string& node_name, const SegmentLimits& limits = {},
    const SegmentLimits& audit_limits = {SegmentLimits().total_bytes, true, {}},
    LostLines lost = nullptr);

/// Keeps everything in memory, for tests.
class MemoryEventLog : public EventLog {
 public:
  void write(const Event& event) override { events.push_back(event); }
  void metrics(const StepMetrics& line) override { steps.push_back(line); }
  void closed(const ClosedStep& step) override { closed_steps.push_back(step); }
  void committed(const CommittedStep& step) override { committed_steps.push_back(step); }
  void loaded(const LoadedState& state) override { loaded_states.push_back(state); }
  size_t count(const std::string& name) const;

  std::vector<Event> events;
  std::vector<StepMetrics> steps;
  std::vector<ClosedStep> closed_steps;
  std::vector<CommittedStep> committed_steps;
  std::vector<LoadedState> loaded_states;
};

}  // namespace swarm::records
