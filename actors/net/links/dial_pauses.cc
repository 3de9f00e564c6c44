#include "actors/net/links/dial_pauses.h"

#include <algorithm>

#include "common/backoff.h"

namespace swarm::actors::links {

Error DialPauses::failed(const Endpoint& at, const Error& why, double uniform, TimePoint now) {
  if (pauses_.size() >= kMaxAddresses) pauses_.clear();
  Pause& pause = pauses_[at.text()];
  const auto asked = std::min(max_, std::chrono::milliseconds(why.retry_after_ms));
  pause.until = now + jittered(std::max(backoff(++pause.failures, min_, max_), asked), uniform);
  pause.why = why;
  const bool of_the_dial =
      why.code == ErrorCode::kPeerTimeout || why.code == ErrorCode::kOverloaded;
  if (of_the_dial) pause.why.code = ErrorCode::kLinkLost;
  return pause.why;
}

std::optional<Error> DialPauses::refusal(const Endpoint& at, TimePoint now) const {
  auto it = pauses_.find(at.text());
  if (it == pauses_.end() || now >= it->second.until) return std::nullopt;
  Error error = it->second.why;
  error.retry_after_ms = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(it->second.until - now).count());
  return error;
}

}  // namespace swarm::actors::links
