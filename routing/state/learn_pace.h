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

  /// Bytes are here that were on their way since `left`, behind those that came before: what a
  /// source needed until then says nothing of the link.
  void received(uint64_t bytes, Time left, Time now);
  /// A source is at `step`.
  void newest(Step step, Time now);
  /// What was measured is forgotten.
  void reset();

  /// [bytes/s] while bytes were on their way; 0: not known.
  double rate() const { return busy_s_ > 0 ? static_cast<double>(bytes_) / busy_s_ : 0; }
  /// [bytes/s] that the means take; 0: not known.
  double needs() const { return step_s_ > 0 ? 4.0 * static_cast<double>(elements_) / step_s_ : 0; }
  /// [s]; 0: not known.
  double step_s() const { return step_s_; }
  /// The means cannot be carried. It takes 3 steps of reading to say so if the rate is less than
  /// half of what is needed, else 12: a rate that was seen is the least that there is.
  std::optional<TooSlow> too_slow() const;

 private:
  uint64_t elements_;
  uint64_t bytes_ = 0, steps_ = 0;
  double busy_s_ = 0;
  Time last_came_{};
  std::optional<Time> newest_at_;
  Step newest_;
  double step_s_ = 0;
};

}  // namespace swarm::routing
