#include "routing/averaging/round_pace.h"

#include <algorithm>

namespace swarm::routing {
namespace {

using Seconds = std::chrono::duration<double>;

// A vector goes up about once and down about once, perhaps in turns.
constexpr double kFirstPatience = 2;
constexpr double kPatience = 8;
// From this many rounds on their times are trusted, and what is left of `least` is what a busy
// machine may hold a process up.
constexpr int kTrustedRounds = 3;
constexpr int kTrustedShare = 4;
constexpr Seconds kMost(3'600);
constexpr double kFallWeight = 0.3;
constexpr double kBackOff = 2;

}  // namespace

double RoundPace::patience() const { return rounds_ == 0 ? kFirstPatience : kPatience; }

RoundPace::Millis RoundPace::limit(uint64_t bytes) const {
  const Seconds expected(seconds_per_byte_ * static_cast<double>(bytes) * patience());
  const Millis least = rounds_ >= kTrustedRounds ? least_ / kTrustedShare : least_;
  return std::max(least, std::chrono::duration_cast<Millis>(std::min(expected, kMost)));
}

void RoundPace::done(double seconds, uint64_t bytes) {
  const double seen = seconds / static_cast<double>(bytes);
  const bool first = ++rounds_ == 1;
  const double weight = first || seen > seconds_per_byte_ ? 1.0 : kFallWeight;
  seconds_per_byte_ += weight * (seen - seconds_per_byte_);
}

void RoundPace::missed(double seconds, uint64_t bytes) {
  const double next_s = std::min(kBackOff * seconds, kMost.count());
  seconds_per_byte_ =
      std::max(seconds_per_byte_, next_s / (patience() * static_cast<double>(bytes)));
}

}  // namespace swarm::routing
