#include "routing/state/learn_pace.h"

#include <algorithm>

namespace swarm::routing {
namespace {

constexpr uint64_t kFewestSteps = 3, kStepsIfClose = 12;
constexpr double kOfTheNewest = 0.3;

double seconds(Time time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void LearnPace::received(uint64_t bytes, Time left, Time now) {
  bytes_ += bytes;
  busy_s_ += seconds(now - std::min(now, std::max(left, last_came_)));
  last_came_ = now;
}

void LearnPace::newest(Step step, Time now) {
  if (newest_at_ && step <= newest_) return;
  if (newest_at_) {
    const uint64_t passed = step.value() - newest_.value();
    const double each_s = seconds(now - *newest_at_) / static_cast<double>(passed);
    step_s_ = steps_ == 0 ? each_s : step_s_ + kOfTheNewest * (each_s - step_s_);
    steps_ += passed;
  }
  newest_ = step;
  newest_at_ = now;
}

void LearnPace::reset() {
  const Time came = last_came_;
  *this = LearnPace(elements_);
  last_came_ = came;
}

std::optional<LearnPace::TooSlow> LearnPace::too_slow() const {
  if (step_s_ <= 0) return std::nullopt;
  const double has = rate();
  const uint64_t steps = 2 * has < needs() ? kFewestSteps : kStepsIfClose;
  const bool measured = steps_ >= steps && busy_s_ >= step_s_ * static_cast<double>(steps);
  if (!measured || has >= needs()) return std::nullopt;
  return TooSlow{needs(), has};
}

}  // namespace swarm::routing
