/// Signs of life of one link: when the other side was heard, when it must hear from us, how long a
/// round trip takes. Pure; one owner.
///
/// Anything sent counts as a sign of life, and a heartbeat goes out only where nothing else did.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "swarm/wire.pb.h"

namespace swarm::actors::links {

class Pulse {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kProbeEvery{
      10};  ///< Between measurements of the round trip.

  Pulse(std::chrono::milliseconds every, std::chrono::milliseconds silence_limit, TimePoint now)
      : every_(every), silence_limit_(silence_limit), heard_(now), next_(now), next_probe_(now) {}

  void heard(TimePoint now) { heard_ = now; }
  bool silent(TimePoint now) const { return now - heard_ > silence_limit_; }
  bool due(TimePoint now) const { return now >= next_; }

  /// This side did not read: whatever did not come is no sign of anything.
  void not_read(TimePoint now) {
    heard_ = now;
    slow_since_.reset();
  }
  /// Less than so much of everything, for so long, while a body is half here and others wait for its room,
  /// is no link: every kind of frame counts, and the slowest modem brings more.
  static constexpr uint64_t kLeastBytesPerS = 1'024;
  static constexpr std::chrono::seconds kSlowFor{30};
  /// Call now and then. `counts`: there is such a body. `received`: all bytes that came on the link.
  bool too_slow(bool counts, uint64_t received, TimePoint now);

  /// The heartbeat to send at `now`, where one is needed: each kProbeEvery one that asks for an
  /// echo, otherwise one when nothing was sent since the last call. Requires due(now). `sent`
  /// counts what was sent on the link, whatever it was.
  std::optional<proto::Heartbeat> beat(TimePoint now, uint64_t sent);
  /// Takes the echo of a probe; nonsense (from the future) is ignored.
  void echoed(uint64_t echo_us, TimePoint now);

  double round_trip_s() const { return round_trip_s_; }  ///< EMA; 0: not known yet.

 private:
  const std::chrono::milliseconds every_, silence_limit_;
  TimePoint heard_, next_, next_probe_;
  uint64_t sent_before_ = 0;
  double round_trip_s_ = 0;
  std::optional<TimePoint> slow_since_;  // since when bytes are counted
  uint64_t slow_from_ = 0;               // received by then
};

}  // namespace swarm::actors::links
