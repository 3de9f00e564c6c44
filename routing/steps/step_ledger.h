/// Which peer holds the gradient of which slot: the matrix slot x stage -> peer of one open step
/// (design Sec. 5), the leases of its slots, and the decision that a stage or the step is complete.
///
/// Pure: time is an argument [s]; no randomness, threads or I/O. One owner: the Coordinator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// A set of stages; bit k is stage k. At most 64 stages.
using StageMask = uint64_t;

struct StepLedgerOptions {
  Step step;
  uint32_t num_stages = 1;  ///< 1 .. 64
  uint32_t num_slots = 1;   ///< Training slots: index 0 .. num_slots - 1.
  uint32_t num_validation =
      0;  ///< Validation slots: index num_slots .. num_slots + num_validation - 1; forward only.
  /// Attempts are numbered from here + 1 on: see routing/steps/attempts.h.
  Attempt attempt_base;
};

/// Permission to carry one slot through the pipeline once.
struct SlotLease {
  Slot slot;
  Attempt attempt;      ///< Rises by one with every lease of the slot.
  StageMask needs = 0;  ///< Stages that must add this slot to their sum; 0 for validation.
  bool validation = false;
};

/// One stage's entry of a finished attempt.
struct LedgerHop {
  Stage stage;
  PeerId peer;
  bool held = false;  ///< The peer added the slot to its sum.
  Attempt attempt;    ///< The attempt that it added.
};

/// Which peer's sum holds (slot, stage), and by which attempt.
struct SlotHolder {
  PeerId peer;
  Attempt attempt;
};

/// What a report of a microbatch that is not finite leads to.
enum class NonFiniteVerdict {
  kIgnored,  ///< Of a slot that is done, an attempt unknown or already reported.
  kRetry,    ///< Leased again, to be carried round that peer.
  kSkipped,  ///< On two nodes: the slot counts for no stage.
};

/// Step, slot and attempt of each slot that a trainer has under way.
using CarriedSlots = std::set<std::tuple<Step, Slot, Attempt>>;

class StepLedger {
 public:
  explicit StepLedger(const StepLedgerOptions& options);

  Step step() const;

  /// Leases up to `max_slots` slots to `trainer` until `deadline_s`: those that still need a stage
  /// (or, validation, a loss) and are not leased. Lowest index first.
  std::vector<SlotLease> lease(const ActorId& trainer, uint32_t max_slots, double deadline_s);

  /// An attempt came back. For every hop with `held` whose stage still needs the slot and whose
  /// peer is not lost, the entry is set; `loss_sum` counts once per slot. Ends the lease if it is
  /// of this attempt. A late attempt of an earlier lease may fill entries too; it changes nothing
  /// that is set. A hop of a stage outside the attempt's `needs` is ignored: that peer was told not
  /// to add. `samples` 0 means that the loss is not known. Errors: kInvalidArgument (slot or stage
  /// out of range), kNotFound (attempt never leased).
  Status done(Slot slot, Attempt attempt, const std::vector<LedgerHop>& route, double loss_sum,
              uint32_t samples);

  /// The attempt failed or its trainer gave it up: the slot may be leased again. Late ones are
  /// ignored.
  void failed(Slot slot, Attempt attempt);

  /// The attempt met something not finite on `where`. The second node to do so skips the slot, where no
  /// `other_node` serves that stage the second attempt: no stage holds it any more, and what stages
  /// hold of it must not be averaged (counted() leaves it out). One node alone is not believed while there
  /// is another one, unless no attempt gets round it (kMostNonFinite). A validation slot that is
  /// skipped makes the validation loss not a number.
  NonFiniteVerdict non_finite(Slot slot, Attempt attempt, const LedgerHop& where, bool other_node);
  static constexpr size_t kMostNonFinite = 8;  ///< Attempts of a slot.
  /// Peers to carry a slot round.
  std::vector<LedgerHop> avoid(Slot slot) const;
  std::vector<Slot> skipped() const;  ///< Training slots, ascending.

  /// Ends all leases of a dead or silent trainer, or all `but` these; returns how many.
  size_t trainer_lost(const ActorId& trainer, const CarriedSlots& but = {});
  /// Its trainer still carries it: the lease lasts until `deadline_s` at least. Of an attempt that is
  /// not leased (any more) it changes nothing.
  void renew(Slot slot, Attempt attempt, double deadline_s);
  /// Ends leases whose deadline has passed; returns them (for the log).
  std::vector<SlotLease> expire(double now_s);

  /// Clears all entries of a peer whose gradient sum is gone (dead, restarted, or it dropped its
  /// sum); returns the slots affected. Entries of that peer are refused from now on unless
  /// `may_return` (it is alive and dropped its sum: new attempts count again, attempts leased
  /// before do not). The latest call decides.
  std::vector<Slot> peer_lost(const PeerId& peer, bool may_return);

  /// Rebuilding after a change of coordinator: `peer` says that its sum of `stage` holds exactly
  /// these (slot, attempt). A slot held by two peers of a stage counts for the first to report; the
  /// others hold too much and will be told so at the close. Later attempts get other numbers than
  /// all reported ones; done() of a reported attempt is accepted and brings its loss. Slots and
  /// stages out of range are ignored.
  void rebuild(const PeerId& peer, Stage stage, const std::vector<std::pair<Slot, Attempt>>& held);

  /// Loss of a slot that a predecessor's done() brought, as the last stage's peer remembers it.
  /// Counts once per slot, like done()'s; validation slots, values that are not finite and slots
  /// out of range are ignored.
  void rebuild_loss(Slot slot, double loss_sum, uint32_t samples);

  /// Every training slot has a peer for this stage.
  bool stage_full(Stage stage) const;
  /// All stages full and every validation slot has its loss.
  bool full() const;

  /// The slots that count for each peer of a stage, ascending.
  std::map<PeerId, std::vector<Slot>> counted(Stage stage) const;
  uint32_t counted_slots() const;  ///< num_slots without the skipped ones.

  uint32_t slots_leased() const;
  uint32_t slots_done() const;  ///< Training slots with no stage missing.
  uint32_t attempts() const;    ///< Of training slots, reported ones of predecessors included.
  /// Mean loss per sample over training slots with a loss; 0 when none.
  double train_loss() const;
  std::optional<double> validation_loss() const;  ///< Set when all validation slots have a loss.
  uint64_t train_samples() const;

  /// Who holds (slot, stage); for audits and tests.
  std::optional<SlotHolder> holder(Slot slot, Stage stage) const;

 private:
  struct Try {
    uint64_t sequence = 0;  // of the lease, over all slots; 0: leased by a predecessor
    StageMask needs = 0;
  };
  struct Active {
    ActorId trainer;
    Attempt attempt;
    double deadline_s = 0;
  };
  struct SlotState {
    StageMask missing = 0;
    std::map<Stage, SlotHolder> holders;
    std::map<Attempt, Try> attempts;
    Attempt last_attempt;
    std::optional<Active> active;
    bool has_loss = false;
    double loss_sum = 0;
    uint32_t samples = 0;
    std::map<Attempt, LedgerHop> non_finite;
    bool skipped = false;
  };
  struct PeerRule {
    bool lost = false;
    uint64_t min_sequence = 0;   // attempts leased before this one do not count
    uint32_t drops = 0;          // of slots that it held
    std::optional<Stage> stage;  // that it has computed of this step, in vain
    bool in_vain() const { return stage.has_value() && (lost || drops > 1); }
  };
  bool is_validation(Slot slot) const { return slot.value() >= options_.num_slots; }
  bool open(Slot slot) const;
  bool refused(const PeerId& peer, const Try& tried) const;
  void set_holder(SlotState& state, Stage stage, const SlotHolder& holder);
  void skip(Slot slot);
  SlotLease describe(Slot slot, Attempt attempt) const;

  StepLedgerOptions options_;
  std::vector<SlotState> slots_;      // training, then validation
  std::vector<uint32_t> missing_;     // by stage: training slots without a holder
  std::map<PeerId, PeerRule> rules_;  // of peers that were ever lost
  uint64_t next_sequence_ = 1;
};

}  // namespace swarm::routing
