/// How many microbatches a trainer keeps under way (docs/wiring.md, "How many are under way").
#pragma once

#include <cstdint>
#include <optional>

namespace swarm::routing {

/// Little's law: n under way at x per second take n / x each. What of that is neither work nor
/// travel was spent in queues, so the part of their time that microbatches wait says how many more
/// are under way than are needed: with too few nobody waits and somebody idles; with too many they
/// only wait. The limit follows that part: with kWaiting there are more than twice as many in
/// queues as at work, enough that the narrowest stage does not run dry, however unevenly the work comes.
///
/// Looked at once in a round: a round is as many as the limit, half as many where they did little
/// but wait, all of them sent after the last change. It grows only where it was reached, so that a
/// step's end or a dry coordinator says nothing.
///
/// What came back too late to count is told too, as all waiting: else a limit that is too large for
/// anything to be done in time would stay for ever.
///
/// Pure. Not thread-safe; one owner.
class InFlight {
 public:
  /// The part of its time that a microbatch is to wait.
  static constexpr double kWaiting = 0.7;
  /// What a swarm of unknown length begins with.
  static constexpr uint32_t kFirst = 6;
  /// No more, whatever is seen: a lease is work that nobody else does.
  static constexpr uint32_t kMost = 1'024;

  /// `fixed`: so many always. Nothing: by itself.
  explicit InFlight(std::optional<uint32_t> fixed) : fixed_(fixed) {}

  uint32_t limit() const;
  bool automatic() const { return !fixed_; }
  /// One more is under way, of `under_way` in all. Returns what to say of it in came_back().
  uint64_t sent(uint32_t under_way);
  /// It is back after `took_s`, `waited_s` of them in queues of peers and links on its way. The
  /// sender's own way there and back is no part of either: who is further away would else take more
  /// of the queues. Figures that cannot be (not finite, longer than `took_s`) count as far as they can be.
  void came_back(uint64_t round, double took_s, double waited_s);
  /// Part of the time waiting, of the last whole round; < 0: none yet.
  double waiting() const { return waiting_; }

 private:
  void look();

  std::optional<uint32_t> fixed_;
  double limit_ = kFirst;
  uint64_t round_ = 0;
  uint32_t back_ = 0;  // of this round
  bool reached_ = false;
  double took_s_ = 0, waited_s_ = 0;  // of those
  double waiting_ = -1;
};

}  // namespace swarm::routing
