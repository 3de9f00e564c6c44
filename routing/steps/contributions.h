/// What a peer's gradient sum (with local updates: its parameters) already contains: at most one
/// attempt of each slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/microbatch_key.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// A slot enters when its computation is started, is added when that is done, and leaves again if it
/// fails. Whoever started a computation remembers epoch(): what ends after the sum was dropped says
/// nothing about the new one.
///
/// Pure; not thread-safe; one owner.
class Contributions {
 public:
  struct Held {
    Slot slot;
    Attempt attempt;
    /// Last stage: loss of the slot's samples, for a coordinator that was not told; 0: not known.
    double loss_sum = 0;
    uint32_t samples = 0;
    /// In the order of what was added to the sum, from 1; 0: it is being computed.
    uint64_t place = 0;

    bool added() const { return place > 0; }
  };

  /// True: the computation of `key` that starts now is to add its gradient. False if the slot is in
  /// already.
  bool enter(const MicrobatchKey& key);
  /// Its gradient is in the sum. Ignored if the sum is another one.
  void added(const MicrobatchKey& key, uint64_t epoch);
  /// It added nothing after all. Ignored if the sum is another one, or the slot is in by another
  /// attempt.
  void failed(const MicrobatchKey& key, uint64_t epoch);
  /// The sum is still the one of `epoch` and has the slot in it, by whichever attempt.
  bool holds(const MicrobatchKey& key, uint64_t epoch) const;
  /// The attempt by which the slot is in.
  std::optional<Attempt> attempt(const MicrobatchKey& key) const;
  /// Ignored if the slot is not in.
  void note_loss(const MicrobatchKey& key, double loss_sum, uint32_t samples);

  /// By slot; those whose computation still goes on are among them, and may fail.
  std::vector<Held> of_step(Step step) const;
  /// All slots of `step` that have entered were added.
  bool settled(Step step) const;

  uint64_t epoch() const { return epoch_; }
  /// The sum is gone (taken, applied or dropped): nothing is in.
  void clear();
  /// The parameters are others, but slots that are in stay in: they are not to be computed again.
  void begin_epoch() { ++epoch_; }
  /// Keeps the latest `kept`; of the others, those of `oldest_step` and later.
  void trim(Step oldest_step, size_t kept);
  size_t size() const { return held_.size(); }

 private:
  using Place = std::pair<Step, Slot>;
  std::map<Place, Held> held_;
  uint64_t epoch_ = 0, added_ = 0;
};

}  // namespace swarm::routing
