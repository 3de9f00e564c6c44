#include "routing/state/learn_pace.h"

#include <algorithm>

namespace swarm::routing {
namespace {

constexpr uint64_t kFewestSteps = 3, kStepsIfClose = 12;
constexpr double kOfTheNewest = 0.3;

double seconds(Time time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void LearnPace::busy(bool on, Time now) {
  if (on == busy_since_.has_value()) return;
  if (on) {
    busy_since_ = now;
  } else {
    busy_s_ += seconds(now - *busy_since_);
    busy_since_.reset();
  }
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
  const auto since = busy_since_;
  *this = LearnPace(elements_);
  busy_since_ = since;
}

double LearnPace::busy_s(Time now) const {
  return busy_s_ + (busy_since_ ? seconds(now - *busy_since_) : 0);
}

double LearnPace::rate(Time now) const {
  const double busy = busy_s(now);
  return busy > 0 ? static_cast<double>(bytes_) / busy : 0;
}

std::optional<LearnPace::TooSlow> LearnPace::too_slow(Time now) const {
  if (step_s_ <= 0) return std::nullopt;
  const double has = rate(now);
  const double needs = 4.0 * static_cast<double>(elements_) / step_s_;
  const uint64_t steps = 2 * has < needs ? kFewestSteps : kStepsIfClose;
  const bool measured = steps_ >= steps && busy_s(now) >= step_s_ * static_cast<double>(steps);
  if (!measured || has >= needs) return std::nullopt;
  return TooSlow{needs, has};
}

}  // namespace swarm::routing
