/// Asks the machine whether it is about to go: node.preemption_file and node.preemption_command.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "actors/node/spot_notice.h"
#include "apps/launch/child_process.h"
#include "apps/launch/preemption_poll.h"

namespace swarm::launch {

/// On the main thread only, as ChildProcess. A command that still runs at the end is killed.
class PreemptionWatch {
 public:
  /// `command` is a line for /bin/sh; either may be empty.
  PreemptionWatch(std::string command, std::string file, double every_s)
      : command_(std::move(command)), file_(std::move(file)), poll_(every_s) {}
  ~PreemptionWatch() { end(); }
  PreemptionWatch(const PreemptionWatch&) = delete;

  /// What is new at `now_s`, on a steady clock; nothing most times. Never waits.
  std::optional<actors::SpotNotice> look(double now_s);
  /// Kills what still runs, for who ends the process without destructors.
  void end() const;

 private:
  std::optional<actors::SpotNotice> begin(double now_s);
  std::optional<actors::SpotNotice> notice(Verdict verdict, const std::string& how) const;

  const std::string command_, file_;
  PreemptionPoll poll_;
  std::optional<ChildProcess> child_;
};

}  // namespace swarm::launch
