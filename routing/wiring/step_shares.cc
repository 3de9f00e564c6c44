#include "routing/wiring/step_shares.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
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
/// Who has that many times fewer slots than another is slow.
constexpr double kQuick = 1.5;
/// Orders are turned by parts of a turn that come back to where they were after no number of them; a row
/// of such parts is spread evenly, wherever it ends.
constexpr double kGolden = 0.6180339887498949;
/// Each is so many slots later by lot: of 64, every part of the row is nearly a multiple of three slots away from
/// the others, and one sender of three had all of them.
constexpr double kLoose = 2;
/// What a slow peer was given too many holds up the step by its own turn, what it has too few a quick one's: in
/// doubt, and costs are measured within some per cent, it has less. In turns of the peer's own; its first slot is
/// dealt without: who gets none is not measured again.
constexpr double kDoubt = 0.5;
constexpr size_t kTries = 4;  // times the slots
constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

uint64_t lot_of(double turn, uint64_t what) {
  return mix(what) + static_cast<uint64_t>(turn * 1e9);
}

double rounded(double cost_s) { return std::exp(kEqual * std::round(std::log(cost_s) / kEqual)); }

/// So that the last is done soonest: each slot to the peer that is done with it first, of equals to
/// the next from place `first` on.
std::vector<uint32_t> counts(const std::vector<double>& costs_s, uint32_t slots, size_t first) {
  double per_s = 0;
  for (const double cost_s : costs_s) per_s += 1 / cost_s;
  std::vector<uint32_t> result;
  uint32_t dealt = 0;
  for (const double cost_s : costs_s) {
    result.push_back(static_cast<uint32_t>(std::max(0.0, slots / per_s / cost_s - kDoubt)));
    dealt += result.back();
  }
  for (; dealt < slots; ++dealt) {
    size_t best = first;
    const auto done_s = [&](size_t place) {
      return result[place] == 0 ? costs_s[place] : (result[place] + 1 + kDoubt) * costs_s[place];
    };
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
  put_in_order();
}

/// Follows from the counts alone: costs that differ by a little make no other order. The slow ones first,
/// who are to be in the front; what is left is the quick ones'.
void StepShares::put_in_order() {
  const double most = *std::max_element(counts_.begin(), counts_.end());
  places_.assign(std::accumulate(counts_.begin(), counts_.end(), size_t{0}), kNobody);
  std::vector<Piece> pieces;
  double all = 0;
  for (uint32_t place = 0; place < counts_.size(); ++place) {
    if (counts_[place] * kQuick < most) {
      place_slow(place, most);
      continue;
    }
    pieces.push_back({place});
    all += counts_[place];
  }
  double begin = 0;
  for (Piece& piece : pieces) {
    piece.begin = begin;
    piece.size = counts_[piece.place] / all;
    begin += piece.size;
  }
  place_quick(pieces);
}

/// However many it gets, they are spread evenly: the beginning of a sequence that is even wherever it ends.
void StepShares::place_slow(uint32_t place, double most) {
  const double count = counts_[place], slots = static_cast<double>(places_.size());
  const auto end = std::max(kLeastSpan, 1 - kEarly * (1 / count - 1 / most)) * slots;
  SplitMix64 lot(lot_of(turn_, place));
  const double first = lot.uniform();
  uint32_t left = counts_[place];
  for (size_t i = 0; left > 0 && i < kTries * places_.size(); ++i) {
    const double about = first + static_cast<double>(i) * kGolden + lot.uniform() * kLoose / slots;
    const double at = std::fmod(about, 1.0) * slots;
    uint32_t& slot = places_[static_cast<size_t>(at)];
    if (at >= end || slot != kNobody) continue;
    slot = place;
    --left;
  }
  for (size_t i = 0; left > 0; ++i) {  // the front is full
    if (places_[i] != kNobody) continue;
    places_[i] = place;
    --left;
  }
}

/// Each slot has a number, and goes to the peer whose piece that is in.
void StepShares::place_quick(const std::vector<Piece>& pieces) {
  const auto numbers = numbers_of_slots(pieces.size());
  for (size_t slot = 0; slot < places_.size(); ++slot) {
    if (places_[slot] != kNobody) continue;
    const auto found =
        std::find_if(pieces.begin(), std::prev(pieces.end()),
                     [&](const Piece& piece) { return numbers[slot] < piece.begin + piece.size; });
    places_[slot] = found->place;
  }
  put_right(pieces, numbers);
}

/// In [0, 1); in every `block` of them about even, in an order by lot: a sender has every third slot or so,
/// and if the order were a regular one, all of them could be meant for one peer.
std::vector<double> StepShares::numbers_of_slots(size_t block) const {
  std::vector<double> numbers, offsets;
  for (size_t i = 0; i < block; ++i) offsets.push_back(SplitMix64(lot_of(turn_, ~i)).uniform());
  while (numbers.size() < places_.size()) {
    const size_t begin = numbers.size();
    SplitMix64 lot(lot_of(turn_, begin));
    for (size_t i = 0; i < block; ++i) {
      const double sub = std::fmod(static_cast<double>(begin / block) * kGolden + offsets[i], 1.0);
      numbers.push_back((static_cast<double>(i) + sub) / static_cast<double>(block));
      std::swap(numbers.back(), numbers[begin + lot.next() % (i + 1)]);
    }
  }
  return numbers;
}

/// Whoever has one too many gives the slot that is nearest to the piece of one who has too few.
void StepShares::put_right(const std::vector<Piece>& pieces, const std::vector<double>& numbers) {
  std::vector<int64_t> over(counts_.size());
  for (const uint32_t place : places_) ++over[place];
  for (size_t place = 0; place < counts_.size(); ++place) over[place] -= counts_[place];
  for (const Piece& few : pieces) {
    const auto away = [&](size_t slot) {
      return std::abs(numbers[slot] - (few.begin + few.size / 2));
    };
    for (; over[few.place] < 0; ++over[few.place]) {
      size_t nearest = places_.size();
      for (size_t slot = 0; slot < places_.size(); ++slot)
        if (over[places_[slot]] > 0 && (nearest == places_.size() || away(slot) < away(nearest)))
          nearest = slot;
      --over[places_[nearest]];
      places_[nearest] = few.place;
    }
  }
}

}  // namespace swarm::routing
