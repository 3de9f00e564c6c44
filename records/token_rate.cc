#include "records/token_rate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace swarm::records {

std::optional<double> TokenRate::closed(uint64_t tokens, double seconds) {
  last_.push_back({tokens, seconds});
  if (last_.size() > open_together_) last_.pop_front();
  double all_tokens = 0, all_seconds = 0;
  for (const Closing& one : last_) {
    all_tokens += static_cast<double>(one.tokens);
    all_seconds += one.seconds;
  }
  if (!(all_seconds > 0)) return std::nullopt;
  return all_tokens / all_seconds;
}

std::optional<double> RunRate::tokens_per_second() const {
  struct Stretch {  // between two stops
    double first_s = 0, last_s = 0;
    uint64_t first_tokens = 0, last_tokens = 0;
  };
  std::vector<Closing> closings = closings_;
  std::sort(closings.begin(), closings.end(), [](const Closing& a, const Closing& b) {
    return std::tie(a.time_s, a.tokens) < std::tie(b.time_s, b.tokens);
  });
  std::vector<double> resumes_s = resumes_s_;
  std::sort(resumes_s.begin(), resumes_s.end());
  std::map<size_t, Stretch> stretches;
  for (const Closing& one : closings) {
    const auto resume = std::upper_bound(resumes_s.begin(), resumes_s.end(), one.time_s);
    const auto number = static_cast<size_t>(resume - resumes_s.begin());
    Stretch& stretch =
        stretches.try_emplace(number, Stretch{one.time_s, one.time_s, one.tokens, one.tokens})
            .first->second;
    stretch.last_s = one.time_s;
    stretch.last_tokens = std::max(stretch.last_tokens, one.tokens);
    if (one.time_s == stretch.first_s) stretch.first_tokens = one.tokens;
  }
  double tokens = 0, seconds = 0;
  for (const auto& [number, stretch] : stretches) {
    tokens += static_cast<double>(stretch.last_tokens - stretch.first_tokens);
    seconds += stretch.last_s - stretch.first_s;
  }
  if (!(seconds > 0)) return std::nullopt;
  return tokens / seconds;
}

}  // namespace swarm::records
