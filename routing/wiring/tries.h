/// To whom one microbatch was offered since the last full round of peers, and how long to wait when
/// everybody was asked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "common/ids.h"
#include "routing/wiring/interleaved_round_robin.h"

namespace swarm::routing {

/// Pure: time [s] is an argument. Not thread-safe; one owner.
class Tries {
 public:
  /// Peers in `avoid` are taken only when there is no other.
  /// `number`: of the microbatch, in its `step`; `attempt`: which carrying of it this belongs to.
  explicit Tries(std::set<PeerId> avoid = {}, uint64_t number = 0, uint64_t step = 0,
                 uint64_t attempt = 0)
      : avoid_(std::move(avoid)), number_(number), step_(step), attempt_(attempt) {}
  uint64_t number() const { return number_; }
  uint64_t step() const { return step_; }
  uint64_t attempt() const { return attempt_; }

  /// Neither asked in this round nor to be avoided.
  bool may_ask(const PeerId& peer) const {
    return tried_.count(peer) == 0 && avoid_.count(peer) == 0;
  }

  using Condition = std::function<bool(const PeerId&)>;
  /// A peer of `router` that was not asked in this round; it counts as asked. Nothing: all were.
  /// Those for which `busy` is true come behind the others, before those in `avoid`; nothing, too,
  /// where another has refused with a hint: it is waited for.
  std::optional<PeerId> next(InterleavedRoundRobin& router, int64_t samples,
                             const Condition& busy = {});
  /// The peer asked last has no place and hopes to in `hint_s`; 0: it does not know.
  void refused(double hint_s);
  /// Begins the next round. Returns how long to wait before it [s]: the shortest hint of those who
  /// refused, 1 at most; without one `otherwise_s`.
  double start_over(double otherwise_s);

 private:
  std::set<PeerId> avoid_;
  std::set<PeerId> tried_;
  double shortest_hint_s_ = 0;  // 0: none
  uint64_t number_ = 0, step_ = 0, attempt_ = 0;
};

}  // namespace swarm::routing
