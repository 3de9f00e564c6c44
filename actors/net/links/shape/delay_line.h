/// What one connection has received and may not have yet: each read waits for its delay, and comes
/// out in the order it came in. Pure; one owner.
///
/// It stands at the receiver: at the sender, bulk that has its delay behind it would stand in a
/// slow receiver's socket before control mail that is pushed later.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace swarm::actors::links {

class DelayLine {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Charged to the bound for each read beside its bytes: many small ones cost memory too.
  static constexpr uint64_t kPerRead = 128;
  /// What a connection may hold here whose hello has not been accepted.
  static constexpr uint64_t kStrangersBytes = 64u << 10;
  /// Where no rate is known [bytes/s], the rate that a line is long enough for: 1 Gb/s.
  static constexpr double kAssumedRate = 125e6;
  /// The bound is never larger.
  static constexpr double kMostBytes = 256u << 20;

  /// The bound that propagation costs no throughput with: rate * delay, and half of it more for
  /// what each read is charged and comes late. `bytes_per_s` 0: kAssumedRate.
  static uint64_t bound_bytes(double bytes_per_s, double delay_s);

  /// `data` is due at `due`, or when the read before it is, if that is later.
  void push(const void* data, size_t size, TimePoint due);
  /// The oldest read, if it is due.
  std::optional<std::vector<char>> take(TimePoint now);
  std::optional<TimePoint> next_due() const;
  bool empty() const { return reads_.empty(); }
  /// Held now, as charged.
  uint64_t bytes() const { return bytes_; }
  /// What nothing that is pushed later comes out before.
  TimePoint last_due() const { return last_due_; }

 private:
  struct Read {
    TimePoint due;
    std::vector<char> bytes;
  };
  std::deque<Read> reads_;
  uint64_t bytes_ = 0;
  TimePoint last_due_{};
};

}  // namespace swarm::actors::links
