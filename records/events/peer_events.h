/// Events that the peers of a stage write, and whoever sends them microbatches.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct PeerFailed {
  static constexpr EventInfo kInfo{"failed", Level::kError, Place::kNone,
                                   kRemarkable | kNeedsReason,
                                   "The stage could not be made; the role ends."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what failed");
  }
};

struct Initialized {
  static constexpr EventInfo kInfo{"initialized", Level::kInfo, Place::kNone, kPlain,
                                   "The weights were drawn from the seed."};
  template <class Visitor>
  void fields(Visitor&) {}
};

struct Restored {
  static constexpr EventInfo kInfo{"restored", Level::kInfo, Place::kRecovery, kRemarkable,
                                   "The peer has loaded a state."};
  std::string source;
  std::optional<std::string> from;
  uint64_t bytes = 0;
  std::optional<Millis> took;
  template <class Visitor>
  void fields(Visitor& v) {
    v("source", source,
      "`own_snapshot`, `neighbours`, or `copies`: neighbours lost, nodes of other stages had a "
      "copy");
    v("from", from, "the nodes that it was fetched from");
    v("bytes", bytes, "of the state");
    v("took_ms", took, "the transfer");
  }
};

struct LoadFailed {
  static constexpr EventInfo kInfo{"load_failed", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "The peer could not get a state; it tries another way."};
  std::string source;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("source", source, "`seed`, `own_snapshot`, `neighbours` or `copies`");
    v("error", error, "what failed");
  }
};

struct StateRefused {
  static constexpr EventInfo kInfo{"state_refused", Level::kError, Place::kTrouble, kRemarkable,
                                   "What neighbours handed the peer is not the state that the "
                                   "coordinator says: it asks others."};
  std::string from;
  Hex checksum{}, right{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("from", from, "names of the neighbours' nodes");
    v("checksum", checksum, "of what they handed over");
    v("right", right, "as the coordinator says");
  }
};

struct Learns {
  static constexpr EventInfo kInfo{"learns", Level::kInfo, Place::kRecovery, kPlain,
                                   "The peer takes the state from neighbours that train on."};
  std::string from;
  uint64_t bytes = 0;
  bool has_state = false;
  template <class Visitor>
  void fields(Visitor& v) {
    v("from", from, "the neighbours that it may ask");
    v("bytes", bytes, "of the whole state");
    v("has_state", has_state,
      "it has an older state: if that is young enough the updates since will do");
  }
};

struct DownloadResumed {
  static constexpr EventInfo kInfo{"download_resumed", Level::kInfo, Place::kRecovery, kPlain,
                                   "The peer goes on with what it had learned when its process "
                                   "ended."};
  uint64_t kept_bytes = 0, too_old_bytes = 0, bytes = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("kept_bytes", kept_bytes, "of ranges on its disk that updates can bring on");
    v("too_old_bytes", too_old_bytes, "of ranges on its disk that are fetched again");
    v("bytes", bytes, "of the whole state");
  }
};

struct KeptRangesRefused {
  static constexpr EventInfo kInfo{"kept_ranges_refused", Level::kWarn, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "What the peer's disk has of an earlier download is damaged or "
                                   "of something else; it is fetched again."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what is wrong with it");
  }
};

struct LearnerTooSlow {
  static constexpr EventInfo kInfo{"learner_too_slow", Level::kWarn, Place::kTrouble, kRemarkable,
                                   "The peer's links do not carry the updates that the others "
                                   "make; it rests, then tries again."};
  double needs_bytes_per_s = 0, has_bytes_per_s = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("needs_bytes_per_s", needs_bytes_per_s, "the means: 4 bytes a parameter a step");
    v("has_bytes_per_s", has_bytes_per_s, "what came from the neighbours while it was asked for");
  }
};

struct Joined {
  static constexpr EventInfo kInfo{"joined", Level::kInfo, Place::kJoin, kPlain,
                                   "The peer serves its stage for the first time."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "as the coordinator gave it");
  }
};

struct Resumed {
  static constexpr EventInfo kInfo{"resumed", Level::kInfo, Place::kNone, kPlain,
                                   "The peer serves again."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "as the coordinator gave it");
  }
};

struct Suspended {
  static constexpr EventInfo kInfo{"suspended", Level::kWarn, Place::kTrouble, kNeedsReason,
                                   "The peer serves no more until it is admitted again."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "why");
  }
};

struct StageLeft {
  static constexpr EventInfo kInfo{"stage_left", Level::kInfo, Place::kLoss, kNeedsReason,
                                   "A peer whose node was told to end takes no more part in its "
                                   "stage; then it saves its state."};
  bool finished = false;
  std::optional<uint64_t> slots;
  double waited_s = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("finished", finished, "nothing that it had a part in is left, so nothing is computed again");
    v("slots", slots,
      "in its gradient sum, which goes with it: they are computed again; asynchronously there is "
      "none");
    v("waited_s", waited_s, "for microbatches, averages and updates that it had a part in");
    v("reason", reason, "why it need not, or could not, wait any longer");
  }
};

struct Averaged {
  static constexpr EventInfo kInfo{"averaged", Level::kInfo, Place::kNone, kPlain,
                                   "The peer holds the average of its stage's gradients."};
  uint64_t round = 0;
  Millis took{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("round", round, "which round");
    v("took_ms", took, "the round at this peer");
  }
};

struct RoundFailed {
  static constexpr EventInfo kInfo{"round_failed", Level::kWarn, Place::kNone, kNeedsReason,
                                   "The peer did not get through an averaging round."};
  uint64_t round = 0;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("round", round, "which round");
    v("error", error, "what failed");
  }
};

struct ResidualLost {
  static constexpr EventInfo kInfo{
      "residual_lost", Level::kInfo, Place::kNone, kNeedsReason,
      "What a codec had taken from the peer's averages will not be given back."};
  double contribution = 0, mean = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("contribution", contribution, "of its sums, the 2-norm of that");
    v("mean", mean, "of the means that it made, likewise");
    v("reason", reason, "why");
  }
};

struct SumDropped {
  static constexpr EventInfo kInfo{"sum_dropped", Level::kWarn, Place::kNone, kNeedsReason,
                                   "The peer dropped its gradient sum: it held more than counts."};
  uint64_t slots = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slots", slots, "contributions that were in it; they are computed again");
    v("reason", reason, "why");
  }
};

struct GradientSumChanged {
  static constexpr EventInfo kInfo{
      "gradient_sum_changed", Level::kError, Place::kTrouble, kRemarkable,
      "The peer's gradient sum is not what the last add left: it drops "
      "it. Its memory may be broken."};
  uint64_t slots = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slots", slots,
      "contributions that were in it; they are computed again, or (asynchronous) in no update");
  }
};

struct Collapsed {
  static constexpr EventInfo kInfo{"collapsed", Level::kWarn, Place::kNone, kNeedsReason,
                                   "Work done ahead of an update was given up (delayed updates)."};
  uint64_t to_step = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("to_step", to_step, "where the peer goes on");
    v("reason", reason, "why");
  }
};

struct NonFinite {
  static constexpr EventInfo kInfo{"non_finite", Level::kWarn, Place::kTrouble, kNeedsReason,
                                   "A loss or gradient is not finite at this peer."};
  uint32_t slot = 0;
  uint64_t attempt = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("slot", slot, "of the step");
    v("attempt", attempt, "which try");
    v("reason", reason, "what is not finite");
  }
};

struct UpdateRefused {
  static constexpr EventInfo kInfo{"update_refused", Level::kWarn, Place::kNone, kNeedsReason,
                                   "An update was not applied (asynchronous mode)."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason, "why");
  }
};

struct Rerouted {
  static constexpr EventInfo kInfo{"rerouted", Level::kWarn, Place::kNone, kNeedsReason,
                                   "A sender gave a peer of `stage` up and sends a microbatch "
                                   "elsewhere."};
  uint32_t slot = 0;
  std::string peer;
  Millis waited{};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("slot", slot, "of the step");
    v("peer", peer, "name of the node that was given up");
    v("waited_ms", waited, "since the microbatch was sent there");
    v("error", error, "why; `peer_timeout`: its deadline has passed");
  }
};

struct ReroutedServed {
  static constexpr EventInfo kInfo{"rerouted_served", Level::kInfo, Place::kNone, kPlain,
                                   "Another peer has answered for such a microbatch."};
  uint32_t slot = 0;
  std::string peer, by;
  Millis took{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("slot", slot, "of the step");
    v("peer", peer, "name of the node that was given up first");
    v("by", by, "who has answered");
    v("took_ms", took, "since the first was given up");
  }
};

struct SlowWay {
  static constexpr EventInfo kInfo{
      "slow_way", Level::kWarn, Place::kTrouble, kRemarkable | kNeedsReason,
      "What a sender has under way takes longer than estimates.max_deadline_s; said once."};
  std::string peer;
  uint64_t microbatches = 0, bytes = 0;
  double needs_s = 0, has_s = 0;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of the node that they were sent to");
    v("microbatches", microbatches, "under way there");
    v("bytes", bytes, "of one between two stages");
    v("needs_s", needs_s, "until all are back, at the pace of the answers");
    v("has_s", has_s, "estimates.max_deadline_s");
    v("reason", reason, "what it means");
  }
};

using PeerEvents =
    EventList<PeerFailed, Initialized, Restored, LoadFailed, StateRefused, Learns, DownloadResumed,
              KeptRangesRefused, LearnerTooSlow, Joined, Resumed, Suspended, StageLeft, Averaged,
              RoundFailed, ResidualLost, SumDropped, GradientSumChanged, Collapsed, NonFinite,
              UpdateRefused, Rerouted, ReroutedServed, SlowWay>;

}  // namespace swarm::records
