/// When a machine is asked whether it is about to go (node.preemption_command), and what its answers
/// mean. Pure; times are seconds of any steady clock.
#pragma once

#include <cstdint>
#include <optional>

#include "apps/launch/child_process.h"

namespace swarm::launch {

enum class Verdict : uint8_t {
  kNothing,  ///< The machine stays, as far as one knows.
  kTell,     ///< It could not be asked; told once, however often it fails.
  kLeave,    ///< It is about to go.
};

class PreemptionPoll {
 public:
  static constexpr double kLimit_s = 5;  ///< A command that takes longer is killed.

  /// `every_s`: from one look to the next; more than 0.
  explicit PreemptionPoll(double every_s) : every_s_(every_s) {}

  /// True when it is time to look; never while a command runs.
  bool looks(double now_s) {
    if (began_s_ || now_s < next_s_) return false;
    next_s_ = now_s + every_s_;
    return true;
  }
  /// A command was started.
  void began(double now_s) { began_s_ = now_s; }
  /// It has had its time: to be killed.
  bool overdue(double now_s) const { return began_s_ && now_s - *began_s_ >= kLimit_s; }
  /// How it ended. 126 and 127 are the shell's words for what it cannot run.
  Verdict ended(const ExitStatus& how) {
    began_s_.reset();
    if (how.signal == 0 && how.code == 0) return Verdict::kLeave;
    return how.signal == 0 && (how.code == 126 || how.code == 127) ? not_asked()
                                                                   : Verdict::kNothing;
  }
  /// It could not be started.
  Verdict not_asked() {
    const bool told = told_;
    told_ = true;
    return told ? Verdict::kNothing : Verdict::kTell;
  }

 private:
  double every_s_;
  double next_s_ = 0;
  std::optional<double> began_s_;
  bool told_ = false;
};

}  // namespace swarm::launch
