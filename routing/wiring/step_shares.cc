#include "routing/wiring/step_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/mix.h"

namespace swarm::routing {
namespace {

/// So many of its own turns before the quickest peer's last one a slow peer's last one is begun.
constexpr double kEarly = 1;
/// Whoever is slow has this part of the step at least to be given its slots in.
constexpr double kLeastSpan = 0.25;
/// Costs that differ by less count as equal: a tie that each sender broke in another way would make other
/// orders of the same step.
constexpr double kEqual = 0.04;
/// Orders are turned by parts of a turn that come back to where they were after no number of them.
constexpr double kGolden = 0.6180339887498949;

double rounded(double cost_s) { return std::exp(kEqual * std::round(std::log(cost_s) / kEqual)); }

/// So that the last is done soonest: each slot to the peer that is done with it first, of equals to
/// the next from place `first` on.
std::vector<uint32_t> counts(const std::vector<double>& costs_s, uint32_t slots, size_t first) {
  double per_s = 0;
  for (const double cost_s : costs_s) per_s += 1 / cost_s;
  std::vector<uint32_t> result;
  uint32_t dealt = 0;
  for (const double cost_s : costs_s) {
    result.push_back(static_cast<uint32_t>(slots / per_s / cost_s));
    dealt += result.back();
  }
  for (; dealt < slots; ++dealt) {
    size_t best = first;
    auto done_s = [&](size_t place) { return (result[place] + 1) * costs_s[place]; };
    for (size_t i = 1; i < costs_s.size(); ++i) {
      const size_t place = (first + i) % costs_s.size();
      if (done_s(place) < done_s(best)) best = place;
    }
    ++result[best];
  }
  return result;
}

}  // namespace

void StepShares::deal(const std::vector<double>& costs_s, uint32_t slots, uint32_t stage,
                      uint64_t step) {
  SWARM_CHECK(!costs_s.empty() && slots > 0);
  std::vector<double> about_s;
  for (const double cost_s : costs_s) {
    SWARM_CHECK(cost_s > 0 && std::isfinite(cost_s));
    about_s.push_back(rounded(cost_s));
  }
  const double turn = std::fmod(static_cast<double>(step % 4'096 + 1) * (stage + 1) * kGolden, 1.0);
  const auto first = static_cast<size_t>(turn * static_cast<double>(costs_s.size()));
  auto dealt = counts(about_s, std::min(slots, kMostSlots), first);
  takes_s_ = 0;
  for (size_t place = 0; place < dealt.size(); ++place)
    takes_s_ = std::max(takes_s_, dealt[place] * costs_s[place]);
  if (dealt == counts_ && turn == turn_) return;
  counts_ = std::move(dealt);
  turn_ = turn;
  put_in_order(turn);
}

/// Follows from the counts alone: costs that differ by a little make no other order. Each has a slot in
/// each of its turns, partly by lot: a sender has every third slot or so, and if its order were one slot off
/// a regular one, all of them would be meant for one peer.
void StepShares::put_in_order(double turn) {
  const double most = *std::max_element(counts_.begin(), counts_.end());
  std::vector<std::pair<double, uint32_t>> order;  // when, of the step; who
  for (uint32_t place = 0; place < counts_.size(); ++place) {
    const double count = counts_[place];
    const double span = std::max(kLeastSpan, 1 - kEarly * (1 / count - 1 / most));
    const double first = std::fmod(turn + place * kGolden, 1.0);
    SplitMix64 lot(mix(place) + static_cast<uint64_t>(turn * 1e9));
    for (uint32_t i = 0; i < counts_[place]; ++i)
      order.emplace_back((i + (first + lot.uniform()) / 2) / count * span, place);
  }
  std::sort(order.begin(), order.end());
  places_.clear();
  for (const auto& [when, place] : order) places_.push_back(place);
}

}  // namespace swarm::routing
