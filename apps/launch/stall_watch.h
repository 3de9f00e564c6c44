/// Whether a run stands still. Steps and microbatches that are done are progress; bytes that move and
/// nodes that begin are for a while only, since what fails again and again moves bytes, too.
///
/// Pure: time [s] is an argument. One owner.
#pragma once

#include <cstdint>

namespace swarm::launch {

/// What a run has shown so far; both only grow.
struct RunProgress {
  uint64_t done = 0;   ///< Steps closed, and steps seen with more of their microbatches done.
  uint64_t moved = 0;  ///< Times that a step was said to go on, by bytes at least; nodes begun.
};

class StallWatch {
 public:
  /// So many limits may pass by with nothing but bytes.
  static constexpr double kLimitsOfBytes = 10;

  explicit StallWatch(double limit_s) : limit_s_(limit_s) {}

  /// The run begins, or goes on, with what it had shown before.
  void begin(const RunProgress& seen, double now_s);
  /// How it is now. True: it stands still.
  bool stalls(const RunProgress& seen, double now_s);
  /// Since the last step or microbatch that was done [s].
  double waits_s(double now_s) const { return now_s - done_at_s_; }

 private:
  double limit_s_;
  RunProgress seen_;
  double done_at_s_ = 0, moved_at_s_ = 0;
};

}  // namespace swarm::launch
