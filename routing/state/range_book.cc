#include "routing/state/range_book.h"

#include <algorithm>

#include "common/check.h"

namespace swarm::routing {

RangeBook::RangeBook(uint64_t elements, uint64_t range_elements)
    : elements_(elements), range_elements_(range_elements) {
  SWARM_CHECK(elements > 0 && range_elements > 0);
  labels_.resize((elements + range_elements - 1) / range_elements);
  clear();
}

std::pair<uint64_t, uint64_t> RangeBook::elements(size_t range) const {
  const uint64_t first = range * range_elements_;
  return {first, std::min(range_elements_, elements_ - first)};
}

std::optional<StateLabel> RangeBook::uniform() const {
  if (!complete()) return std::nullopt;
  const auto& label = labels_.front();
  const bool one = std::all_of(labels_.begin(), labels_.end(),
                               [&](const auto& other) { return other == label; });
  return one ? label : std::nullopt;
}

void RangeBook::take(size_t range) {
  missing_.erase(range);
  on_disk_.erase(range);
  if (labels_[range]) held_.erase({*labels_[range], range});
}

void RangeBook::put(size_t range, const std::optional<StateLabel>& label) {
  if (labels_[range]) held_elements_ -= elements(range).second;
  labels_[range] = label;
  if (label) {
    held_elements_ += elements(range).second;
    held_.emplace(*label, range);
  } else {
    missing_.insert(range);
  }
}

void RangeBook::expect(size_t range) {
  if (missing_.erase(range) > 0) on_disk_.insert(range);
}

bool RangeBook::claim(size_t range) {
  return missing_.erase(range) > 0 || on_disk_.erase(range) > 0;
}

void RangeBook::clear() {
  held_.clear();
  on_disk_.clear();
  held_elements_ = 0;
  for (size_t range = 0; range < labels_.size(); ++range) {
    labels_[range].reset();
    missing_.insert(range);
  }
}

std::optional<size_t> RangeBook::next_missing() const {
  if (!missing_.empty()) return *missing_.begin();
  if (!on_disk_.empty()) return *on_disk_.rbegin();
  return std::nullopt;
}

}  // namespace swarm::routing
