/// How far the words of others lead the highest term that a node knows. Numbers of terms end (2^20), and a run
/// whose terms are used up has no coordinator any more: whoever says ever higher ones must not lead there.
///
/// Pure: time is an argument. One owner: who keeps the highest term.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/strong_id.h"
#include "routing/membership/term.h"
#include "routing/time.h"

namespace swarm::routing {

class TermLead {
 public:
  /// Others lead on by `at_once` numbers, and then by one more `every` so often. By default what coordinators
  /// may say: all numbers would take 60 days.
  explicit TermLead(uint64_t at_once = 2 * kTermJump, Time every = std::chrono::seconds(5))
      : at_once_(at_once), every_(every) {}
  /// What others may say to a coordinator, in days twice as many: those that follow it keep up.
  static TermLead of_coordinator() { return TermLead(kTermJump, std::chrono::seconds(10)); }

  /// So many numbers may others lead on now.
  uint64_t left(Time now) const { return at_once_ - used(now); }
  /// They have led on by `numbers`.
  void led(uint64_t numbers, Time now) {
    const uint64_t before = used(now);
    since_ = before == 0 ? now : since_ + (now - since_) / every_ * every_;
    used_ = std::min(at_once_, before + numbers);
  }
  /// They have led from `highest` to `term`; nothing if that is not above it.
  void led(Term highest, Term term, Time now) {
    if (highest < term) led(term_number(term) - term_number(highest), now);
  }

  /// Whether a message may say `term` where `highest` is known: at most kTermJump above it, and within
  /// left().
  bool allows(Term term, Term highest, Time now) const {
    return !jumps(term, highest) && term_number(term) <= term_number(highest) + left(now);
  }
  /// Whether the record of a coordinator may: within left(), and for who knows of no term yet up to half
  /// of all numbers besides.
  bool reaches(Term term, Term highest, Time now) const {
    return term_number(term) <= term_number(base(term, highest)) + left(now);
  }
  /// As far towards `term` as such a record leads from `highest`; that is counted.
  Term follow(Term term, Term highest, Time now) {
    if (term <= highest) return highest;
    const uint64_t from = term_number(base(term, highest));
    const uint64_t steps = std::min(term_number(term) - from, left(now));
    led(steps, now);
    return from + steps == term_number(term) ? term : Term((from + steps) << kTermNodeBits);
  }

 private:
  static Term base(Term term, Term highest) {
    constexpr Term kHalf(kLastTermNumber / 2 << kTermNodeBits);
    return highest == Term() ? std::min(term, kHalf) : highest;
  }
  uint64_t used(Time now) const {
    const auto back = static_cast<uint64_t>((now - since_) / every_);
    return used_ > back ? used_ - back : 0;
  }

  uint64_t at_once_;
  Time every_;
  uint64_t used_ = 0;
  Time since_{};  // when `used_` was so many
};

}  // namespace swarm::routing
