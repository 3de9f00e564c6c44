/// Events that a coordinator writes of numbers that are wrong and what it does about them. `stage` and
/// `step` stand beside an event's own fields.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct SumNotFinite {
  static constexpr EventInfo kInfo{
      "sum_not_finite", Level::kWarn, Place::kTrouble, kRemarkable,
      "What a peer brought into an average is not finite: it drops its gradient sum, its slots are "
      "computed again, and those that are not finite then either are left out."};
  std::string peer, by;
  uint64_t slots = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("by", by, "name of the node that added it up");
    v("slots", slots, "that were in its sum");
  }
};

struct PeerRests {
  static constexpr EventInfo kInfo{
      "peer_rests", Level::kError, Place::kTrouble, kRemarkable | kNeedsReason,
      "A node fails again and again: it gets no microbatches and has no part in averages for 1, 5, "
      "then "
      "30 minutes. Its memory, its processor or its link may be broken."};
  std::string peer;
  Millis rests{};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of the node");
    v("rests_ms", rests, "for how long");
    v("reason", reason, "what was wrong");
  }
};

struct RestEnds {
  static constexpr EventInfo kInfo{"rest_ends", Level::kInfo, Place::kRecovery,
                                   kRemarkable | kNeedsReason,
                                   "A node that had to rest may take part again."};
  std::string peer, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of the node");
    v("reason", reason, "its time is over, or its stage has nobody else");
  }
};

struct RunsPlain {
  static constexpr EventInfo kInfo{"runs_plain", Level::kWarn, Place::kTrouble, kRemarkable,
                                   "Peers were lost in the middle of an update twice in a few "
                                   "steps: delayed updates pause, so that "
                                   "a loss costs microbatches and not steps."};
  uint64_t until = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("until", until, "the step that goes on with them");
  }
};

struct ReplicaReplaced {
  static constexpr EventInfo kInfo{"replica_replaced", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "A peer's state is not what its replicas have: it fetches "
                                   "theirs. A broken memory, or a machine "
                                   "that computes wrongly."};
  std::string peer;
  Hex checksum{}, right{};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("checksum", checksum, "of its state, or of the average that it took in the background");
    v("right", right, "that of those that stay");
    v("reason", reason, "why it is this one that goes");
  }
};

using RepairEvents = EventList<SumNotFinite, PeerRests, RestEnds, RunsPlain, ReplicaReplaced>;

}  // namespace swarm::records
