/// How much may pass now: a token bucket that may go into debt, so that what is cut into chunks of
/// any size still keeps the rate: of a node's sending and receiving, of one link's sending
/// (actors/net/links/shape/options.h). Pure; one owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace swarm::actors::links {

class SendLimit {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// What was not sent for longer than this is lost; more than the time between two looks.
  static constexpr double kBurst_s = 0.1;
  /// A chunk sent puts off everything else for this long at most: heartbeats still come in time.
  static constexpr double kChunk_s = 0.05;

  /// 0: no limit.
  explicit SendLimit(double bytes_per_s) : rate_(bytes_per_s), tokens_(rate_ * kBurst_s) {}

  bool limited() const { return rate_ > 0; }
  double rate() const { return rate_; }
  /// Goes on at another rate. What was saved up or is owed stays, up to kBurst_s of the new one.
  void set_rate(double bytes_per_s, TimePoint now) {
    if (bytes_per_s == rate_) return;
    may_send(now);
    if (!limited()) tokens_ = bytes_per_s * kBurst_s;
    rate_ = bytes_per_s;
    last_ = now;
    tokens_ = std::clamp(tokens_, -rate_ * kBurst_s, rate_ * kBurst_s);
  }
  /// Time never goes back.
  bool may_send(TimePoint now) {
    if (!limited()) return true;
    if (last_ != TimePoint{}) {
      const double passed_s = std::chrono::duration<double>(now - last_).count();
      tokens_ = std::min(rate_ * kBurst_s, tokens_ + rate_ * passed_s);
    }
    last_ = now;
    return tokens_ > 0;
  }
  /// What may pass now [bytes]; below 0: owed. Requires limited().
  double saved_bytes(TimePoint now) {
    may_send(now);
    return tokens_;
  }
  /// How long until what has passed is paid for; 0: it is.
  double owed_s(TimePoint now) { return may_send(now) ? 0 : -tokens_ / rate_; }
  /// What a chunk of chunk_bytes() takes. Requires limited().
  double chunk_s() const { return static_cast<double>(chunk_bytes(SIZE_MAX)) / rate_; }
  void sent(size_t bytes) {
    if (limited()) tokens_ -= static_cast<double>(bytes);
  }
  /// Largest chunk that keeps others waiting for kChunk_s.
  size_t chunk_bytes(size_t at_most) const {
    if (!limited()) return at_most;
    return std::clamp(static_cast<size_t>(rate_ * kChunk_s), std::min<size_t>(1024, at_most),
                      at_most);
  }

 private:
  double rate_, tokens_;
  TimePoint last_{};
};

}  // namespace swarm::actors::links
