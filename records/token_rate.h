/// How fast a run trains, from its closings: the only definitions of `tokens_per_second`, of a
/// metrics line and of a whole run. Pure; time is an argument. One owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace swarm::records {

/// Steps that are open one at a time: the tokens of a step through its seconds. Periods that are
/// open together close in bursts, so that the time from one closing to the next says nothing: the
/// tokens of as many as may be open, through the seconds since the closing before them.
class TokenRate {
 public:
  /// Requires open_together >= 1.
  explicit TokenRate(size_t open_together) : open_together_(open_together) {}

  /// A step or period of `tokens` has closed, `seconds` after its opening or the closing before.
  /// Nothing if no time has passed.
  std::optional<double> closed(uint64_t tokens, double seconds);
  /// The swarm has begun again: what was measured before is of another time.
  void clear() { last_.clear(); }

 private:
  struct Closing {
    uint64_t tokens;
    double seconds;
  };
  size_t open_together_;
  std::deque<Closing> last_;
};

/// A whole run (summary, report, `swarm compare`, `swarm bench`): the tokens between its first
/// closing and its last through the time between them. Recoveries count; the first step, which
/// warms allocators and links up, and the time from a stop to the first closing after the resume do
/// not. What is told may come in any order.
class RunRate {
 public:
  /// A training step has closed at `time_s`; `tokens`: trained so far in the run. Once for each
  /// step.
  void closed(double time_s, uint64_t tokens) { closings_.push_back({time_s, tokens}); }
  /// The run was stopped before and went on at `time_s`.
  void resumed(double time_s) { resumes_s_.push_back(time_s); }

  /// Nothing if no time has passed between closings.
  std::optional<double> tokens_per_second() const;

 private:
  struct Closing {
    double time_s;
    uint64_t tokens;
  };
  std::vector<Closing> closings_;
  std::vector<double> resumes_s_;
};

}  // namespace swarm::records
