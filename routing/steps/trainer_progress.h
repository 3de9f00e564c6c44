/// What one trainer has done lately, for the people who started it. Pure: time is an argument.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/strong_id.h"

namespace swarm::routing {

class TrainerProgress {
 public:
  static constexpr double kEvery_s = 5;

  struct Line {
    Step step;        ///< Newest that it trained.
    double loss = 0;  ///< Mean over its microbatches since the last line [nats per token].
    double samples_per_s = 0;
  };

  /// A microbatch came back; `loss_sum` over its samples.
  void trained(Step step, double loss_sum, uint32_t samples, double now_s) {
    if (!since_s_) since_s_ = now_s;
    step_ = std::max(step_, step);
    loss_sum_ += loss_sum;
    samples_ += samples;
  }
  /// A line, if one is due and there is something to say.
  std::optional<Line> take(double now_s) {
    if (!since_s_ || samples_ == 0 || now_s - *since_s_ < kEvery_s) return std::nullopt;
    const auto samples = static_cast<double>(samples_);
    const Line line{step_, loss_sum_ / samples, samples / (now_s - *since_s_)};
    since_s_ = now_s;
    loss_sum_ = 0;
    samples_ = 0;
    return line;
  }

 private:
  std::optional<double> since_s_;
  Step step_;
  double loss_sum_ = 0;
  uint64_t samples_ = 0;
};

}  // namespace swarm::routing
