/// Events that a coordinator writes of peers that serve another stage (docs/elastic.md). `stage`, the one
/// that a peer moves to, and `step` stand beside an event's own fields.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct PeerMoves {
  static constexpr EventInfo kInfo{"peer_moves", Level::kInfo, Place::kNone, kRemarkable,
                                   "A peer is told to serve `stage`, or a newcomer is."};
  std::string peer, why;
  uint64_t order = 0;
  std::optional<uint64_t> from;
  double from_load = 0, from_after = 0, to_load = 0, to_after = 0;
  uint64_t from_peers = 0, to_peers = 0;
  double cost_s = 0, gain_s = 0;
  std::optional<uint64_t> copy_step;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("why", why,
      "`floor`, `load`, `newcomer`, `operator` or `conscription` (nobody is left of `stage`)");
    v("order", order, "its number in this coordinator's term");
    v("from", from, "the stage that it leaves; missing: it has none");
    v("from_load", from_load, "of that stage [seconds of work per second and peer]");
    v("from_after", from_after, "likewise, without it");
    v("to_load", to_load, "of `stage`; null: nobody serves it");
    v("to_after", to_after, "likewise, with it");
    v("from_peers", from_peers, "of the stage that it leaves, with it");
    v("to_peers", to_peers, "of `stage`, without it");
    v("cost_s", cost_s, "until it serves: the state's download and a warm-up");
    v("gain_s", gain_s,
      "work of `stage` that is saved while such a peer lives, less the cost; of a "
      "move for the load only");
    v("copy_step", copy_step,
      "of a conscription only: the newest step of `stage` that goes with what others have");
  }
};

struct MoveDone {
  static constexpr EventInfo kInfo{"move_done", Level::kInfo, Place::kJoin, kPlain,
                                   "A peer that was told to serve `stage` does."};
  std::string peer;
  double took_s = 0;
  uint64_t bytes = 0;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("took_s", took_s, "since it was told");
    v("bytes", bytes, "of the stage's state, as far as known");
  }
};

struct MoveGivenUp {
  static constexpr EventInfo kInfo{
      "move_given_up", Level::kWarn, Place::kNone, kNeedsReason,
      "A peer that was told to serve `stage` does not, or not by that."};
  std::string peer, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("peer", peer, "name of its node");
    v("reason", reason, "why");
  }
};

struct PlacementHolds {
  static constexpr EventInfo kInfo{"placement_holds", Level::kInfo, Place::kNone, kNeedsReason,
                                   "Nobody, or nobody more, moves. Told when the reason changes."};
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason,
      "`no_reports`, `not_busy` (trainers are the limit), `even`, `no_giver` (stages that have "
      "more "
      "are at their floor, or their peers stay) or `cost`");
  }
};

struct ConscriptionHolds {
  static constexpr EventInfo kInfo{
      "conscription_holds", Level::kWarn, Place::kTrouble, kRemarkable | kNeedsReason,
      "Nobody is left of `stage`, and no peer of another one takes it over."};
  std::string reason, missing;
  template <class Visitor>
  void fields(Visitor& v) {
    v("reason", reason,
      "`no_quorum`, `no_copy` (there is no step that every stage can supply) or `no_giver` (no "
      "stage can spare a peer)");
    v("missing", missing, "what there is, and whose disks had more");
  }
};

using PlacementEvents =
    EventList<PeerMoves, MoveDone, MoveGivenUp, PlacementHolds, ConscriptionHolds>;

}  // namespace swarm::records
