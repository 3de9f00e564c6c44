#include "actors/net/links/pulse.h"

namespace swarm::actors::links {
namespace {

uint64_t micros(Pulse::TimePoint time) {
  using std::chrono::duration_cast, std::chrono::microseconds;
  return static_cast<uint64_t>(duration_cast<microseconds>(time.time_since_epoch()).count()) + 1;
}

}  // namespace

std::optional<proto::Heartbeat> Pulse::beat(TimePoint now, uint64_t sent) {
  const bool probe = now >= next_probe_;
  const bool quiet = sent == sent_before_;
  next_ = now + every_;
  sent_before_ = sent;
  if (!probe && !quiet) return std::nullopt;
  ++sent_before_;  // this one
  proto::Heartbeat beat;
  if (probe) {
    beat.set_sent_us(micros(now));
    next_probe_ = now + kProbeEvery;
  }
  return beat;
}

bool Pulse::too_slow(bool counts, uint64_t received, TimePoint now) {
  if (!counts) {
    slow_since_.reset();
    return false;
  }
  if (slow_since_ && now - *slow_since_ < kSlowFor) return false;
  const bool slow = slow_since_ && received - slow_from_ < kLeastBytesPerS * kSlowFor.count();
  slow_since_ = now;
  slow_from_ = received;
  return slow;
}

void Pulse::echoed(uint64_t echo_us, TimePoint now) {
  const uint64_t now_us = micros(now);
  if (echo_us == 0 || echo_us > now_us) return;
  const double seconds = static_cast<double>(now_us - echo_us) * 1e-6;
  round_trip_s_ = round_trip_s_ == 0 ? seconds : 0.8 * round_trip_s_ + 0.2 * seconds;
}

}  // namespace swarm::actors::links
