/// How fast a peer's answers come while it has work of one sender: all that is between the two and
/// behind the peer is in it, links, computers and the others' work (docs/wiring.md, "Deadlines").
///
/// Pure: time [s] is an argument. Not thread-safe; one owner.
#pragma once

#include <cstdint>
#include <optional>

namespace swarm::routing {

class AnswerPace {
 public:
  /// Something is under way from now on; before, nothing was, or only what never came back.
  void begins() { last_s_.reset(); }
  /// An answer about `samples` samples came, after so long.
  void answered(int64_t samples, double waited_s, double now_s);
  /// Between two answers [s]. Nothing: none came yet. Before the second it is all of the first's
  /// wait, which is more.
  std::optional<double> seconds_per_sample() const { return pace_s_; }
  /// Two answers and more have shown it.
  bool seen() const { return intervals_ > 0; }

 private:
  std::optional<double> last_s_;  // the last answer; something has been under way ever since
  std::optional<double> pace_s_;
  uint32_t intervals_ = 0;
};

}  // namespace swarm::routing
