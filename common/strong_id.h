/// Numbers that name something: each of its own type, so that a step cannot stand where a round
/// is meant. A bare number becomes one, and one a bare number, only where the code says so:
/// `Step(7)`, `step.value()`. They order, hash and print (fmt, streams) as their numbers do.
///
///   Step next = step + 1;             // counting goes on in the same type
///   uint64_t behind = newest - own;   // a distance is a plain number
///   fmt::format("step={}", step);
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <ostream>

namespace swarm {

template <class Tag, class Number>
class StrongId {
 public:
  using Rep = Number;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Number value) : value_(value) {}
  constexpr Number value() const { return value_; }

  constexpr StrongId& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr StrongId operator+(StrongId id, Number n) {
    return StrongId(static_cast<Number>(id.value_ + n));
  }
  /// Requires n <= id.value() where Number is unsigned.
  friend constexpr StrongId operator-(StrongId id, Number n) {
    return StrongId(static_cast<Number>(id.value_ - n));
  }
  /// How many `b` is before `a`. Requires b <= a where Number is unsigned.
  friend constexpr Number operator-(StrongId a, StrongId b) {
    return static_cast<Number>(a.value_ - b.value_);
  }

  friend constexpr bool operator==(StrongId a, StrongId b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(StrongId a, StrongId b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(StrongId a, StrongId b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(StrongId a, StrongId b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>(StrongId a, StrongId b) { return a.value_ > b.value_; }
  friend constexpr bool operator>=(StrongId a, StrongId b) { return a.value_ >= b.value_; }
  friend std::ostream& operator<<(std::ostream& out, StrongId id) { return out << id.value_; }

 private:
  Number value_ = 0;
};

/// Optimizer step, counted from 0: the model that `n` steps have made is the model of step n.
using Step = StrongId<struct StepTag, uint64_t>;
/// Pipeline stage, from 0 (embedding) to num_stages - 1 (loss).
using Stage = StrongId<struct StageTag, uint32_t>;
/// Term of office of a coordinator; grows with each election.
using Term = StrongId<struct TermTag, uint64_t>;
/// Averaging round of a stage.
using Round = StrongId<struct RoundTag, uint64_t>;
/// How often something was tried; grows, so that answers to an earlier try are told apart.
using Attempt = StrongId<struct AttemptTag, uint64_t>;
/// Place of a microbatch within a step, from 0.
using Slot = StrongId<struct SlotTag, uint32_t>;

}  // namespace swarm

template <class Tag, class Number>
struct std::hash<swarm::StrongId<Tag, Number>> {
  size_t operator()(swarm::StrongId<Tag, Number> id) const noexcept {
    return std::hash<Number>()(id.value());
  }
};

template <class Tag, class Number>
struct fmt::formatter<swarm::StrongId<Tag, Number>> : fmt::formatter<Number> {
  template <class Context>
  auto format(swarm::StrongId<Tag, Number> id, Context& context) const {
    return fmt::formatter<Number>::format(id.value(), context);
  }
};
