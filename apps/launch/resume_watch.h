/// Whether a run can go on from what its nodes have: where no step is common to all stages, waiting does
/// not help once every node is there. Pure: time is an argument.
#pragma once

#include <optional>

namespace swarm::launch {

class ResumeWatch {
 public:
  /// Peers of large stages register so long after their node listens.
  static constexpr double kPatience = 30;

  /// `nothing_common`: the coordinator says so, and nothing was trained since. True: it stays so.
  bool hopeless(bool nothing_common, bool all_listen, double now_s) {
    if (!nothing_common || !all_listen)
      since_s_.reset();
    else if (!since_s_)
      since_s_ = now_s;
    return since_s_ && now_s - *since_s_ >= kPatience;
  }

 private:
  std::optional<double> since_s_;
};

}  // namespace swarm::launch
