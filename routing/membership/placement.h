/// Which stage a peer should serve (docs/elastic.md). Every period the least loaded peer of the least loaded
/// stage moves to the most loaded one (paper, adaptive rebalancing), and again while that pays. What the paper
/// lacks:
/// - *Floor*: a stage that has no more peers than that gives none. One that has fewer gets one at once. A swarm
///   with fewer peers than that has a lower floor; the last peer of a stage never moves.
/// - *Cost*: what the stage gains has to be more than what the mover does not do meanwhile.
/// - *Hysteresis*: the giver stays less loaded than the taker was, by more than reports are wrong, so that nobody
///   moves back.
/// A newcomer goes where it is needed most, at once.
///
/// What is told late or not at all may delay a move and never causes one: only who said lately that it serves a
/// stage counts for its floor, and a stage whose peers are silent gives none.
///
/// Pure; `now` never falls. One owner: the coordinator. A new one knows of no moves under way but by what peers
/// say, and waits a period before it balances.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/result.h"
#include "routing/membership/stage_loads.h"

namespace swarm::routing {

struct PlacementOptions {
  bool moves = true;  ///< False: newcomers are placed and operators obeyed, no more.
  Time period = std::chrono::seconds(60);
  uint32_t floor = 2;  ///< Peers that a stage keeps. At least 1.
  /// By what share the giver's load after a move has to be below the taker's before. With n and m peers it is
  /// this x sqrt(1/n + 1/m): the mean of many reports is less wrong.
  double hysteresis = 0.15;
  /// Of the swarm's peers that may be on their way at a time; one may in any case.
  double most_moving = 0.25;
  double busy_from = 0.5;  ///< A stage with less load than this needs nobody.
  /// In which a move has to pay: how long a peer is likely to live.
  Time pays_within = std::chrono::hours(1);
  Time warm_up = std::chrono::seconds(10);  ///< From the state to the first answer.
  double unknown_bytes_per_s = 1e6;
  Time max_age = std::chrono::seconds(90);  ///< Of a report. Longer than the time between two.
  uint32_t rest_periods = 2;                ///< That a peer stays after a move.
  /// A stage of which nobody has been seen for so long while the swarm gathers is taken over by peers of
  /// others (conscription.h); 0: never.
  Time gone_after = std::chrono::seconds(10);
  /// Who said so within this time is there, when somebody is about to leave for good.
  Time here_within = std::chrono::seconds(3);
  // -- as GatheringOptions
  uint32_t min_peers_per_stage = 1;  ///< A floor is no lower: the swarm could not start again.
  uint32_t min_peers = 0;
  Time start_grace{};
};

struct PlacementOrder {
  enum class Why { kFloor, kLoad, kNewcomer, kOperator, kConscription };
  PeerId peer;
  std::optional<Stage> from;  ///< Nothing: it waited for one.
  Stage to;
  Why why = Why::kLoad;
  double from_load = 0, to_load = 0;  ///< Before it, as StageLoads::load.
  double from_after = 0, to_after = 0;
  uint32_t from_peers = 0, to_peers = 0;  ///< Before it, with those on their way.
  double cost_s = 0;                      ///< Until it serves `to`.
  double gain_s = 0;  ///< Of kLoad: work of `to` that is saved within `pays_within`, less the cost.
  std::optional<Step> step{};  ///< Of kConscription: the swarm is to go on from there.
};
const char* to_string(PlacementOrder::Why why);

/// Why nobody (more) was moved; kNone when it was not time to look, or the most that may move do.
enum class PlacementHold {
  kNone,
  kNoReports,  ///< Nobody has said what it does.
  kNotBusy,    ///< The most loaded stage has not enough to do.
  kEven,       ///< Stages differ by too little.
  kNoGiver,    ///< Those that have more are at their floor, or their peers stay.
  kCost,       ///< Moves take longer than they are worth.
};
const char* to_string(PlacementHold hold);

struct PlacementDecision {
  std::vector<PlacementOrder> orders;
  PlacementHold hold = PlacementHold::kNone;
};

class Placement {
 public:
  /// The first period begins at `now`. Requires stages and a floor.
  Placement(uint32_t stages, const PlacementOptions& options, Time now);

  /// To be asked when somebody came or is gone, and at `next()`. Orders are under way from now on.
  /// kNewcomers: nobody who serves is moved now. kUrgent: only to a stage that nobody serves. kToBegin:
  /// newcomers only, to stages without which a run does not start.
  enum class Scope { kAll, kUrgent, kNewcomers, kToBegin };
  PlacementDecision decide(const PlacementView& view, Time now, Scope scope = Scope::kAll);
  Time next() const { return next_; }
  /// The period ends now.
  void hurry(Time now) { next_ = now; }
  /// An operator's order: whatever it costs, and though the stage falls below its floor, but never the last
  /// peer. Errors: kNotFound, kInvalidArgument, kRefused.
  Result<PlacementOrder> send(const PeerId& peer, Stage to, const PlacementView& view, Time now);

  /// Ordered by somebody else (kConscription): it is under way from now on.
  void expect(const PlacementOrder& order, Time now);

  /// Asked again when a mover has nothing left to do, before it ends serving: its stage keeps the floor
  /// without it. If not, the caller lets it stay and says so by cancel().
  bool may_leave(const PeerId& peer, const PlacementView& view, Time now) const;
  /// It refused, failed, or is not to go after all; it rests.
  void cancel(const PeerId& peer, Time now);
  /// Its process is gone.
  void lost(const NodeId& node);
  size_t under_way() const { return under_way_.size(); }
  bool moves(const PeerId& peer) const { return under_way_.count(peer) > 0; }
  /// It has moved lately, or did not when it was to.
  bool rests(const PeerId& peer, Time now) const {
    const auto rest = rests_.find(peer);
    return rest != rests_.end() && rest->second > now;
  }

 private:
  struct Move {
    std::optional<Stage> from;
    Stage to;
    Time until{};  ///< Nobody waits for it any longer.
    double speed = 1;
    PlacementOrder::Why why = PlacementOrder::Why::kLoad;
  };
  struct Look;  ///< At a view: its peers, and the stages as they are going to be.

  void settle(const Look& look, Time now);
  void count(uint32_t peers, Time now);
  void place_newcomers(Look& look, Scope scope, PlacementDecision& decision);
  void fill_floors(Look& look, Scope scope, PlacementDecision& decision);
  PlacementHold balance(Look& look, PlacementDecision& decision);
  void order(Look& look, PlacementOrder order, const PlacedPeer* mover,
             PlacementDecision& decision);

  uint32_t stages_;
  PlacementOptions options_;
  Time next_;
  std::map<PeerId, Move> under_way_;
  std::map<PeerId, Time> rests_;  ///< Until then.
  /// Peers, at most: in the period of counting under way, and in the one before.
  uint32_t most_now_ = 0, most_before_ = 0;
  Time counts_until_{};
};

}  // namespace swarm::routing
