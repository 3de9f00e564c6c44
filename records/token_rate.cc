#include "records/token_rate.h"

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

void RunRate::closed(double time_s, uint64_t tokens) {
  const Closing one{time_s, tokens};
  if (stopped_) stretches_.push_back({one, one});
  stopped_ = false;
  Stretch& stretch = stretches_.back();
  if (time_s < stretch.first.time_s) stretch.first = one;
  if (time_s > stretch.last.time_s) stretch.last = one;
}

double RunRate::tokens() const {
  double sum = 0;
  for (const Stretch& one : stretches_)
    if (one.last.tokens > one.first.tokens)
      sum += static_cast<double>(one.last.tokens - one.first.tokens);
  return sum;
}

double RunRate::seconds() const {
  double sum = 0;
  for (const Stretch& one : stretches_) sum += one.last.time_s - one.first.time_s;
  return sum;
}

std::optional<double> RunRate::tokens_per_second() const {
  if (!(seconds() > 0)) return std::nullopt;
  return tokens() / seconds();
}

}  // namespace swarm::records
