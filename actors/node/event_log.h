/// A node's own record of what happened: events.jsonl, metrics.jsonl and audit.jsonl
/// (docs/run_folder.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/coordinator/audit_record.h"
#include "common/result.h"
#include "records/catalogue.h"

namespace swarm::actors {

/// Something worth a line: joined, lost, rerouted, averaged, checkpointed, restored, ...
struct Event {
  std::string name;
  int32_t stage = -1;    ///< -1: does not apply.
  int64_t step = -1;     ///< -1: does not apply.
  std::string detail{};  ///< For people; "key=value" pairs.
};

/// Asynchronous mode: updates of a stage by their staleness; entry k of `histogram` counts those of
/// k, the 64th all from there on. Empty: the stage made none.
struct StageStaleness {
  std::vector<uint64_t> histogram;
  double mean = 0;
  uint64_t max = 0;
};

/// One closed step, as its coordinator saw it.
struct StepMetrics {
  uint64_t step = 0;
  double train_loss = 0;  ///< [nats per token], mean over the step's samples.
  uint64_t tokens = 0;    ///< Trained so far in the run.
  double tokens_per_second = 0;
  double seconds = 0;                    ///< From opening to commit.
  std::vector<uint32_t> live_peers;      ///< Per stage.
  std::array<uint64_t, 4> bytes_sent{};  ///< In this step, all nodes, by traffic class.
  std::optional<double> validation_loss;
  uint32_t slots = 0;
  uint32_t attempts = 0;
  uint64_t term = 0;
  double gradient_norm = 0;
  std::vector<StageStaleness> staleness;  ///< Asynchronous mode: by stage.
};

/// Thread-safe. Each line is one write(2), so that a reader never sees a torn line after a kill.
class EventLog {
 public:
  virtual ~EventLog() = default;
  /// An event of the catalogue. -1: no stage, no step.
  template <class T>
  void record(int64_t stage, int64_t step, const T& event) {
    write(records::make_event(stage, step, event));
  }
  /// Fills in the time and the node.
  virtual void write(const records::Event& event) {
    record({event.name, static_cast<int32_t>(event.stage), event.step, text(event.fields)});
  }
  virtual void record(const Event& event) = 0;
  virtual void metrics(const StepMetrics& metrics) = 0;
  virtual void closed(const ClosedStep& step) = 0;
  virtual void committed(const CommittedStep& step) = 0;
  virtual void loaded(const LoadedState& state) = 0;
};

/// Appends to events.jsonl, metrics.jsonl and audit.jsonl of `folder`. Errors: kIo.
Result<std::shared_ptr<EventLog>> open_event_log(const std::string& folder,
                                                 const std::string& node_name);

/// Keeps everything in memory, for tests.
class MemoryEventLog : public EventLog {
 public:
  using EventLog::record;
  void record(const Event& event) override { events.push_back(event); }
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

}  // namespace swarm::actors
