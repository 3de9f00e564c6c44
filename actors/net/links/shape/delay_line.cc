#include "actors/net/links/shape/delay_line.h"

#include <algorithm>

namespace swarm::actors::links {

uint64_t DelayLine::bound_bytes(double bytes_per_s, double delay_s) {
  const double rate = bytes_per_s > 0 ? bytes_per_s : kAssumedRate;
  const double needed = 1.5 * rate * delay_s + static_cast<double>(kStrangersBytes);
  return static_cast<uint64_t>(std::min(needed, kMostBytes));
}

void DelayLine::push(const void* data, size_t size, TimePoint due) {
  const char* bytes = static_cast<const char*>(data);
  last_due_ = std::max(last_due_, due);
  reads_.push_back({last_due_, std::vector<char>(bytes, bytes + size)});
  bytes_ += size + kPerRead;
}

std::optional<std::vector<char>> DelayLine::take(TimePoint now) {
  if (reads_.empty() || reads_.front().due > now) return std::nullopt;
  auto bytes = std::move(reads_.front().bytes);
  reads_.pop_front();
  bytes_ -= bytes.size() + kPerRead;
  return bytes;
}

std::optional<DelayLine::TimePoint> DelayLine::next_due() const {
  if (reads_.empty()) return std::nullopt;
  return reads_.front().due;
}

}  // namespace swarm::actors::links
