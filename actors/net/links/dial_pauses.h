/// How long addresses that could not be dialled are left alone. Pure; one owner.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors::links {

class DialPauses {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr size_t kMaxAddresses = 4'096;  ///< Beyond it all are forgotten.

  /// First pause and longest (common/backoff.h).
  DialPauses(std::chrono::milliseconds min, std::chrono::milliseconds max) : min_(min), max_(max) {}

  /// A dial failed because of `why`; `uniform` in [0, 1] spreads the pause. Returns the error that
  /// mail to this address fails with meanwhile: a time-out of the dial is not one of the peer, and
  /// no room for a connection is no busy actor.
  Error failed(const Endpoint& at, const Error& why, double uniform, TimePoint now);
  void succeeded(const Endpoint& at) { pauses_.erase(at.text()); }
  /// Why `at` is not dialled now, with the time left as retry_after_ms; nothing: it may be.
  std::optional<Error> refusal(const Endpoint& at, TimePoint now) const;

 private:
  struct Pause {
    int failures = 0;  // in a row
    TimePoint until{};
    Error why;
  };
  const std::chrono::milliseconds min_, max_;
  std::map<std::string, Pause> pauses_;  // by Endpoint::text()
};

}  // namespace swarm::actors::links
