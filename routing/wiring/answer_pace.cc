#include "routing/wiring/answer_pace.h"

#include <algorithm>
#include <cmath>

namespace swarm::routing {
namespace {

constexpr double kSmoothing = 0.2;

}  // namespace

void AnswerPace::answered(int64_t samples, double waited_s, double now_s) {
  if (samples <= 0 || !std::isfinite(waited_s) || waited_s < 0) return;
  const auto n = static_cast<double>(samples);
  if (last_s_) {
    const double seen_s = std::max(0.0, now_s - *last_s_) / n;
    const double weight = std::max(kSmoothing, 1.0 / ++intervals_);
    const double before_s = intervals_ == 1 ? seen_s : *pace_s_;
    pace_s_ = before_s + weight * (seen_s - before_s);
  } else if (intervals_ == 0) {
    pace_s_ = waited_s / n;
  }
  last_s_ = now_s;
}

}  // namespace swarm::routing
