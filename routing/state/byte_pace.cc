#include "routing/state/byte_pace.h"

#include <algorithm>

namespace swarm::routing {
namespace {

/// The estimate rises at once and falls slowly: what is given up too early is done again.
constexpr double kOfTheFaster = 0.2;
/// What is shorter says more of the way's beginning than of its speed [bytes].
constexpr uint64_t kShortest = 1u << 20;

}  // namespace

void BytePace::took(uint64_t bytes, Time time) {
  if (bytes < kShortest) return;
  const double found = std::chrono::duration<double>(time).count() / static_cast<double>(bytes);
  if (!known_ || found > seconds_per_byte_)
    seconds_per_byte_ = found;
  else
    seconds_per_byte_ += kOfTheFaster * (found - seconds_per_byte_);
  known_ = true;
}

Time BytePace::some_times(uint64_t bytes) const {
  const std::chrono::duration<double> takes(kPatience * seconds_per_byte_ *
                                            static_cast<double>(bytes));
  constexpr std::chrono::duration<double> kMost = std::chrono::hours(24);
  return std::chrono::duration_cast<Time>(std::min(takes, kMost));
}

}  // namespace swarm::routing
