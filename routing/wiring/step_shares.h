/// Which peer of a stage each slot of a step is meant for, where a step ends with its last microbatch
/// (docs/wiring.md, "Where steps wait").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swarm::routing {

/// A stage has many senders, and none sees what the others give. Each by itself may well give a peer its
/// share, yet all give theirs at once; over thousands of microbatches that evens out, but a step ends
/// with its last one. So the number of the slot decides: senders that know about the same costs mean the same
/// peer by it without a word, and a step's slots are dealt out so that all peers are done at once.
///
///   StepShares shares;
///   shares.deal({0.4, 0.1, 0.1}, 64, /*stage=*/2, /*step=*/117);
///   shares.place(17);  // 0, 1 or 2
///
/// Who takes longer for one has its part in the front of the step, evenly: one that is begun last must
/// not end last. What is slow at one stage is to be quick at the next, and no sender is to have the same
/// slots for the same peer for ever (it would never hear of the others): stage and step turn the order.
///
/// Costs are measured, by each sender for itself, so deals differ. A peer that is to have a slot more or
/// less has that one more or less and keeps the others: where senders mean different peers by a few slots,
/// a peer gets a slot or two beside its part, not what chance makes of it.
///
/// Pure. Not thread-safe; one owner.
class StepShares {
 public:
  /// Of what does not fit in memory anyway: as many are dealt out at a time.
  static constexpr uint32_t kMostSlots = 4'096;

  /// `costs_s`: what a microbatch takes of each peer; finite and above 0. Requires one peer or more and
  /// slots > 0.
  void deal(const std::vector<double>& costs_s, uint32_t slots, uint32_t stage, uint64_t step);

  /// The place in `costs_s` of the peer that the slot is meant for. Requires deal().
  size_t place(uint64_t slot) const { return places_[slot % places_.size()]; }
  /// How many slots of a step it is meant to get.
  uint32_t slots_of(size_t place) const { return counts_[place]; }
  /// When the last is done, if all peers are busy from the first moment on [s].
  double takes_s() const { return takes_s_; }

 private:
  /// What of [0, 1) is a quick peer's.
  struct Piece {
    uint32_t place = 0;
    double begin = 0, size = 0;
  };
  void put_in_order();
  void place_slow(uint32_t place, double most);
  void place_quick(const std::vector<Piece>& pieces);
  std::vector<double> numbers_of_slots(size_t block) const;
  void put_right(const std::vector<Piece>& pieces, const std::vector<double>& numbers);

  std::vector<uint32_t> counts_;  // by place
  std::vector<uint32_t> places_;  // by slot
  double takes_s_ = 0;
  double turn_ = -1;
};

}  // namespace swarm::routing
