/// Events that `swarm run` writes itself; `node` names the node that they are about, or `run`.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct ProcessStarted {
  static constexpr EventInfo kInfo{"process_started", Level::kInfo, Place::kNone, kRemarkable,
                                   "A node's process listens."};
  int64_t pid = 0;
  std::string endpoint;
  template <class Visitor>
  void fields(Visitor& v) {
    v("pid", pid, "of the process");
    v("endpoint", endpoint, "HOST:PORT");
  }
};

struct ProcessLost {
  static constexpr EventInfo kInfo{"process_lost", Level::kError, Place::kLoss,
                                   kRemarkable | kNeedsReason,
                                   "A process ended though nobody asked it to."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "exit code or signal");
  }
};

struct ProcessRestarts {
  static constexpr EventInfo kInfo{"process_restarts", Level::kWarn, Place::kJoin, kRemarkable,
                                   "A node whose process has ended unasked is started again "
                                   "(`run.restarts`)."};
  uint32_t number = 0, most = 0;
  Millis pause{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("number", number, "which time in a row");
    v("most", most, "how often that is done");
    v("pause_ms", pause, "from the end to the start");
  }
};

struct ProcessStaysDown {
  static constexpr EventInfo kInfo{"process_stays_down", Level::kError, Place::kNone, kRemarkable,
                                   "A node whose process ends unasked again and again is not "
                                   "started any more (`run.restarts`)."};
  uint32_t most = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("most", most, "how often it was started again, in a row");
  }
};

struct ProcessEnded {
  static constexpr EventInfo kInfo{"process_ended", Level::kInfo, Place::kNone, kNeedsReason,
                                   "A process ended as the timeline, `[chaos]` or the end of the "
                                   "run wanted, or it left in order "
                                   "(`drain`, a spot notice): it is not started again."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "exit code or signal");
  }
};

struct TimelineAct {
  static constexpr EventInfo kInfo{"timeline", Level::kInfo, Place::kByAction, kRemarkable,
                                   "An entry of `[[timeline]]`, or one of a node's `preempt`, was "
                                   "carried out."};
  uint64_t index = 0;
  std::string action;
  template <class Visitor>
  void fields(Visitor& v) {
    v("index", index, "of the entry");
    v("action", action,
      "`kill`, `stop`, `start`, `pause`, `resume`, `link`, `cut`, `heal`, `full_disk` or "
      "`free_disk`");
  }
};

struct ChaosAct {
  static constexpr EventInfo kInfo{"chaos", Level::kInfo, Place::kByAction, kRemarkable,
                                   "`[chaos]`, or a node's `preempt_every_s`, did something to "
                                   "the node."};
  std::optional<uint64_t> index;
  std::string action;
  bool coordinator = false;
  template <class Visitor>
  void fields(Visitor& v) {
    v("index", index,
      "of the schedule, which a resumed run goes on with; missing when a node "
      "comes back");
    v("action", action,
      "`kill`, `stop` or their `start`, `pause` or `resume`, `cut` or `heal`, `full_disk` or "
      "`free_disk`");
    v("coordinator", coordinator, "it was struck because it is the coordinator");
  }
};

struct ChaosSpared {
  static constexpr EventInfo kInfo{"chaos_spared", Level::kInfo, Place::kNone, kPlain,
                                   "It did not, because the node was missing or the last of its "
                                   "kind."};
  uint64_t index = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("index", index, "of the schedule");
  }
};

struct RunResumed {
  static constexpr EventInfo kInfo{"run_resumed", Level::kInfo, Place::kRun, kRemarkable,
                                   "`swarm run --resume` goes on in this folder."};
  uint64_t steps_closed = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("steps_closed", steps_closed, "so far");
  }
};

struct TensorboardFailed {
  static constexpr EventInfo kInfo{"tensorboard_failed", Level::kWarn, Place::kTrouble,
                                   kNeedsReason,
                                   "The event file for TensorBoard cannot be written; nothing "
                                   "more is written to it."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what failed");
  }
};

struct AuditLineDamaged {
  static constexpr EventInfo kInfo{"audit_line_damaged", Level::kWarn, Place::kNone, kPlain,
                                   "A line of a node's audit.jsonl is torn (it died at it) and was "
                                   "left out of the merged file."};
  std::string file;
  uint64_t bytes = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("file", file, "where it stands");
    v("bytes", bytes, "its length; 0: unknown");
  }
};

using LauncherEvents =
    EventList<ProcessStarted, ProcessLost, ProcessRestarts, ProcessStaysDown, ProcessEnded,
              TimelineAct, ChaosAct, ChaosSpared, RunResumed, TensorboardFailed, AuditLineDamaged>;

}  // namespace swarm::records
