/// Events that a coordinator writes. `stage` and `step` stand beside an event's own fields.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct CoordinatorActive {
  static constexpr EventInfo kInfo{"coordinator", Level::kInfo, Place::kCoordinator, kRemarkable,
                                   "The node became the coordinator, or raised its term."};
  uint64_t term = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("term", term, "its term");
  }
};

struct SteppedDown {
  static constexpr EventInfo kInfo{"stepped_down", Level::kWarn, Place::kCoordinator, kNeedsReason,
                                   "The node is the coordinator no longer."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "why");
  }
};

struct TrainerJoined {
  static constexpr EventInfo kInfo{"trainer_joined", Level::kInfo, Place::kJoin, kPlain,
                                   "A trainer asked for its first lease."};
  std::string trainer;
  template <class Visitor>
  void fields(Visitor& v) {
    v("trainer", trainer, "name of its node");
  }
};

struct OtherText {
  static constexpr EventInfo kInfo{
      "other_text", Level::kError, Place::kTrouble, kNeedsReason,
      "A trainer reads another text than the run; it gets no work. Its own node writes this, too."};
  std::string trainer;
  Hex fingerprint;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("trainer", trainer, "name of its node");
    v("fingerprint", fingerprint, "of its text");
    v("reason", reason, "both texts' paths, nodes and fingerprints");
  }
};

struct TrainerLost {
  static constexpr EventInfo kInfo{"trainer_lost", Level::kWarn, Place::kLoss, kRemarkable,
                                   "The link to a trainer's node is lost."};
  std::string trainer;
  uint64_t leases = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("trainer", trainer, "name of its node");
    v("leases", leases, "slots it had leased; others compute them again");
  }
};

struct PeerAdmitted {
  static constexpr EventInfo kInfo{"admitted", Level::kInfo, Place::kNone, kPlain,
                                   "A peer may serve its stage."};
  std::string peer;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
  }
};

struct PeerLost {
  static constexpr EventInfo kInfo{"lost", Level::kWarn, Place::kLoss, kRemarkable | kNeedsReason,
                                   "A peer is gone; what it alone held is computed again."};
  std::string peer, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("reason", reason, "how that was noticed");
  }
};

struct Recompute {
  static constexpr EventInfo kInfo{"recompute", Level::kInfo, Place::kNone, kPlain,
                                   "Gradients died with a peer: its slots are computed again."};
  uint64_t slots = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slots", slots, "how many");
  }
};

struct LeaseExpired {
  static constexpr EventInfo kInfo{"lease_expired", Level::kWarn, Place::kNone, kPlain,
                                   "A trainer did not deliver a slot in time; others may try."};
  uint32_t slot = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slot", slot, "of the step");
  }
};

struct AttemptFailed {
  static constexpr EventInfo kInfo{"attempt_failed", Level::kWarn, Place::kNone, kNeedsReason,
                                   "A trainer could not carry a slot to its end."};
  uint32_t slot = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slot", slot, "of the step");
    v("reason", reason, "what the trainer met");
  }
};

struct StepGoesOn {
  static constexpr EventInfo kInfo{
      "goes_on", Level::kInfo, Place::kNone, kPlain,
      "A step that takes long is not stuck: microbatches were done or bytes sent. Every 10 s."};
  uint32_t slots_done = 0, slots = 0;
  uint64_t bytes = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slots_done", slots_done, "of the step's microbatches");
    v("slots", slots, "that it has");
    v("bytes", bytes, "that all nodes have sent so far, control mail apart");
  }
};

struct SlotSkipped {
  static constexpr EventInfo kInfo{"slot_skipped", Level::kWarn, Place::kTrouble, kPlain,
                                   "A slot was not finite on two peers: every stage leaves it "
                                   "out."};
  uint32_t slot = 0;
  std::string peer;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slot", slot, "of the step");
    v("peer", peer, "the second of the two");
  }
};

struct Diverged {
  static constexpr EventInfo kInfo{"diverged", Level::kError, Place::kTrouble, kNeedsReason,
                                   "Every slot of a step was skipped: the run fails."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "what it means and what to do");
  }
};

struct MemberAskedAgain {
  static constexpr EventInfo kInfo{"member_asked_again", Level::kWarn, Place::kNone, kPlain,
                                   "An averaging round takes long; a member was asked once more."};
  std::string peer;
  uint64_t round = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("round", round, "which round");
  }
};

struct MemberFailed {
  static constexpr EventInfo kInfo{"member_failed", Level::kWarn, Place::kNone, kNeedsReason,
                                   "A member did not get through an averaging round."};
  std::string peer;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("error", error, "what it answered");
  }
};

struct PeerSetAside {
  static constexpr EventInfo kInfo{
      "set_aside", Level::kWarn, Place::kTrouble, kNeedsReason,
      "A peer takes no part for a while: it cannot reach another one of "
      "its stage."};
  std::string peer;
  Millis retry_in{};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("retry_in_ms", retry_in, "until it is tried again");
    v("reason", reason, "whom it cannot reach");
  }
};

struct BecameReader {
  static constexpr EventInfo kInfo{"became_reader", Level::kWarn, Place::kTrouble, kPlain,
                                   "A peer's links hold the averaging up for longer than its work "
                                   "is worth: it gets no microbatches, "
                                   "takes the means, and is asked again after 50 rounds or more."};
  std::string peer;
  double costs_s = 0, samples = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("costs_s", costs_s, "by which it makes a step longer for the others");
    v("samples", samples, "that it brings in a step");
  }
};

struct PartsRelayed {
  static constexpr EventInfo kInfo{
      "parts_relayed", Level::kInfo, Place::kTrouble, kPlain,
      "Two peers that cannot reach each other average through a third."};
  std::string a, b, via;
  template <class Visitor>
  void fields(Visitor& v) {
    v("a", a, "name of one's node");
    v("b", b, "name of the other's node");
    v("via", via, "name of the node between them");
  }
};

struct AveragesDiffer {
  static constexpr EventInfo kInfo{
      "averages_differ", Level::kError, Place::kNone, kPlain,
      "A member reports another average than most do (of two, than the one with the smaller id): "
      "the round is tried again, or (asynchronous) it fetches what another one has."};
  std::string peer;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node, which is not believed");
  }
};

struct StageAveraged {
  static constexpr EventInfo kInfo{"stage_averaged", Level::kInfo, Place::kNone, kPlain,
                                   "All members of a stage hold its average (synchronous and "
                                   "delayed updates)."};
  uint64_t peers = 0;
  Millis since_open{};
  bool overlapped = false;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peers", peers, "members of the round");
    v("since_open_ms", since_open, "from the opening of the step");
    v("overlapped", overlapped, "the next step was under way meanwhile: nobody waited");
  }
};

struct MemberAveraged {
  static constexpr EventInfo kInfo{"member_averaged", Level::kInfo, Place::kNone, kPlain,
                                   "A peer has averaged its weights (asynchronous mode)."};
  std::string peer;
  Millis took{}, stalled{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("took_ms", took, "its round");
    v("stalled_ms", stalled, "of that, without taking microbatches");
  }
};

struct AveragingSkipped {
  static constexpr EventInfo kInfo{"averaging_skipped", Level::kWarn, Place::kNone, kNeedsReason,
                                   "A period ended without averaging (asynchronous mode)."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "why");
  }
};

struct RoundAbandoned {
  static constexpr EventInfo kInfo{"round_abandoned", Level::kWarn, Place::kNone, kPlain,
                                   "A round was given up before anybody applied its average."};
  uint64_t round = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("round", round, "which round");
  }
};

struct CommitFailed {
  static constexpr EventInfo kInfo{"commit_failed", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "A peer could not apply an update; it fetches the state."};
  std::string peer;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("error", error, "what it answered");
  }
};

struct ReplicasEqual {
  static constexpr EventInfo kInfo{"replicas_equal", Level::kInfo, Place::kNone, kPlain,
                                   "After an update all peers of a stage hold the same bits."};
  Hex checksum{};
  uint64_t peers = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("checksum", checksum, "of the stage's parameters");
    v("peers", peers, "how many were compared");
  }
};

struct ReplicasDiffer {
  static constexpr EventInfo kInfo{"replicas_differ", Level::kError, Place::kTrouble, kRemarkable,
                                   "After an update peers of a stage hold different bits: a bug, "
                                   "or a machine that computes wrongly."};
  std::vector<Hex> checksums;
  template <class Visitor>
  void fields(Visitor& v) {
    v("checksums", checksums, "the different ones");
  }
};

struct Recovered {
  static constexpr EventInfo kInfo{"recovered", Level::kWarn, Place::kRecovery,
                                   kRemarkable | kNeedsReason,
                                   "The swarm goes on from `step`, maybe an older one."};
  std::optional<uint64_t> from_step, peers, peers_before;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("from_step", from_step, "where it was before");
    v("peers", peers, "how many are here, if some are missing");
    v("peers_before", peers_before, "how many there were");
    v("reason", reason, "why the peers were gathered");
  }
};

struct CannotGoOn {
  static constexpr EventInfo kInfo{"cannot_go_on", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "No step is common to what the peers can supply."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what is missing");
  }
};

struct RunFinished {
  static constexpr EventInfo kInfo{"finished", Level::kInfo, Place::kRun, kRemarkable,
                                   "All steps are closed and every stage is on a disk, or what is "
                                   "not is said."};
  uint64_t steps = 0;
  std::optional<double> validation_loss;
  std::optional<std::string> not_durable;
  template <class Visitor>
  void fields(Visitor& v) {
    v("steps", steps, "how many");
    v("validation_loss", validation_loss, "the final one [nats per token]");
    v("not_durable", not_durable,
      "why the last snapshots are not on a disk in every stage; missing: they are");
  }
};

struct SnapshotsFail {
  static constexpr EventInfo kInfo{"snapshots_fail", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "A peer's snapshots have failed again and again: its disk needs "
                                   "a look. Told once, until one succeeds."};
  std::string peer;
  uint32_t failed = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("failed", failed, "snapshots, one after another");
    v("reason", reason, "of the last");
  }
};

using CoordinatorEvents =
    EventList<CoordinatorActive, SteppedDown, TrainerJoined, OtherText, TrainerLost, PeerAdmitted,
              PeerLost, Recompute, LeaseExpired, AttemptFailed, StepGoesOn, SlotSkipped, Diverged,
              MemberAskedAgain, MemberFailed, PeerSetAside, BecameReader, PartsRelayed,
              AveragesDiffer, StageAveraged, MemberAveraged, AveragingSkipped, RoundAbandoned,
              CommitFailed, ReplicasEqual, ReplicasDiffer, Recovered, CannotGoOn, SnapshotsFail,
              RunFinished>;

}  // namespace swarm::records
