#include "routing/wiring/in_flight.h"

#include <algorithm>
#include <cmath>

namespace swarm::routing {
namespace {

/// Of one change. Trainers see the same queues and change together: no large steps down.
constexpr double kLeast = 0.7, kGrowth = 2;
/// Closer than this to what it should be, nothing is changed.
constexpr double kCloseEnough = 0.05;
/// A round has this many at least: one microbatch is no measure.
constexpr uint32_t kRound = 4;
/// So much waiting needs no whole round to be seen: half of one is enough.
constexpr double kJam = 0.9;

}  // namespace

uint32_t InFlight::limit() const {
  return fixed_ ? *fixed_ : static_cast<uint32_t>(std::lround(limit_));
}

uint64_t InFlight::sent(uint32_t under_way) {
  reached_ = reached_ || under_way >= limit();
  return round_;
}

void InFlight::came_back(uint64_t round, double took_s, double waited_s) {
  if (round != round_ || !std::isfinite(took_s) || took_s <= 0) return;
  took_s_ += took_s;
  if (waited_s > 0) waited_s_ += std::min(waited_s, took_s);  // not a number: not known
  const uint32_t round_size = std::max(limit(), kRound);
  const bool jam = waited_s_ > kJam * took_s_;
  if (++back_ >= (jam ? round_size / 2 : round_size)) look();
}

void InFlight::look() {
  waiting_ = waited_s_ / took_s_;
  double factor = std::clamp((1 - waiting_) / (1 - kWaiting), kLeast, kGrowth);
  if (!reached_) factor = std::min(factor, 1.0);
  if (std::abs(factor - 1) > kCloseEnough) {
    // One at least, or a small limit would stay where it is.
    const double changed = factor > 1 ? std::max(limit_ * factor, limit_ + 1) : limit_ * factor;
    limit_ = std::clamp(changed, 1.0, static_cast<double>(kMost));
    ++round_;
  }
  back_ = 0;
  reached_ = false;
  took_s_ = waited_s_ = 0;
}

}  // namespace swarm::routing
