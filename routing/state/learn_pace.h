/// Whether a learner can keep up: how fast bytes reach it, how long a step takes.
///
/// Pure: time is an argument and never goes back. Not thread-safe; one owner.
#pragma once

#include <cstdint>
#include <optional>

#include "common/strong_id.h"
#include "routing/time.h"

namespace swarm::routing {

class LearnPace {
 public:
  /// Bytes/s that the means take, and that there are.
  struct TooSlow {
    double needs = 0, has = 0;
  };

  explicit LearnPace(uint64_t elements) : elements_(elements) {}

  /// Reads are under way, or none any more.
  void busy(bool on, Time now);
  void received(uint64_t bytes) { bytes_ += bytes; }
  /// A source is at `step`.
  void newest(Step step, Time now);
  /// What was measured is forgotten.
  void reset();

  /// [bytes/s] while reads are under way; 0: not known.
  double rate(Time now) const;
  /// [s]; 0: not known.
  double step_s() const { return step_s_; }
  /// The means cannot be carried. It takes 3 steps of reading to say so if the rate is less than
  /// half of what is needed, else 12: a rate that was seen is the least that there is.
  std::optional<TooSlow> too_slow(Time now) const;

 private:
  double busy_s(Time now) const;

  uint64_t elements_;
  uint64_t bytes_ = 0, steps_ = 0;
  double busy_s_ = 0;
  std::optional<Time> busy_since_, newest_at_;
  Step newest_;
  double step_s_ = 0;
};

}  // namespace swarm::routing
