/// What a learner has of a state: which ranges are held and of which label, which are missing, and
/// which of those its disk may have (docs/averaging.md, "Learners"). Kept by a LearnPlan.
///
/// A range that is being brought stands in no line: it is taken out, and put back with what came.
///
/// Pure; not thread-safe; one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "routing/state/state_label.h"

namespace swarm::routing {

class RangeBook {
 public:
  /// All are missing. Requires >= 1 each.
  RangeBook(uint64_t elements, uint64_t range_elements);

  size_t ranges() const { return labels_.size(); }
  /// First and count.
  std::pair<uint64_t, uint64_t> elements(size_t range) const;
  /// By range, also of those that are being brought on.
  const std::vector<std::optional<StateLabel>>& labels() const { return labels_; }
  uint64_t elements_held() const { return held_elements_; }
  /// Nothing is missing.
  bool complete() const { return held_elements_ == elements_; }
  /// All ranges are of this label.
  std::optional<StateLabel> uniform() const;

  /// Out of its line.
  void take(size_t range);
  /// Back in one: it is held so, or missing.
  void put(size_t range, const std::optional<StateLabel>& label);
  /// The disk may have it, if it is missing: it is asked for last.
  void expect(size_t range);
  /// Takes what is missing and not being brought; else false.
  bool claim(size_t range);
  void clear();

  /// Held, by label; not being brought on.
  const std::set<std::pair<StateLabel, size_t>>& held() const { return held_; }
  /// The next to ask for. The disk is read from the front: of what it may have the last comes first.
  std::optional<size_t> next_missing() const;

 private:
  uint64_t elements_, range_elements_;
  std::vector<std::optional<StateLabel>> labels_;  // by range
  std::set<size_t> missing_, on_disk_;             // not being brought; a range is in one of them
  std::set<std::pair<StateLabel, size_t>> held_;   // not being brought on
  uint64_t held_elements_ = 0;
};

}  // namespace swarm::routing
