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

}  // namespace swarm::records
