#include "routing/membership/placement.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "common/check.h"

namespace swarm::routing {
namespace {

using Hold = PlacementHold;
using Standing = PlacedPeer::Standing;

/// A move is given up when it takes this much longer than it should, and a minute.
constexpr double kPatience = 3, kPatience_s = 60;

double seconds(Time time) { return std::chrono::duration<double>(time).count(); }
Time as_time(double seconds) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(std::min(seconds, 1e8)));
}

double cost_s(double bytes, double bytes_per_s, const PlacementOptions& options) {
  const bool known = std::isfinite(bytes_per_s) && bytes_per_s > 0;
  return bytes / (known ? bytes_per_s : options.unknown_bytes_per_s) + seconds(options.warm_up);
}

/// Each peer once, by id; the one that was heard of last.
std::vector<const PlacedPeer*> each_once(const PlacementView& view, uint32_t stages) {
  std::vector<const PlacedPeer*> peers;
  for (const PlacedPeer& peer : view.peers)
    if (peer.stage.value() < stages) peers.push_back(&peer);
  const auto heard = [](const PlacedPeer* peer) {
    return peer->report ? peer->report->at : Time::min();
  };
  const auto before = [&](const auto* a, const auto* b) {
    return a->id != b->id ? a->id < b->id : heard(a) > heard(b);
  };
  if (!std::is_sorted(peers.begin(), peers.end(), before))
    std::stable_sort(peers.begin(), peers.end(), before);
  const auto same = [](const auto* a, const auto* b) { return a->id == b->id; };
  peers.erase(std::unique(peers.begin(), peers.end(), same), peers.end());
  return peers;
}

/// One that could move, and what that would be.
struct Offer {
  const PlacedPeer* peer = nullptr;
  double gain_s = 0, score = 0;
};

}  // namespace

const char* to_string(PlacementOrder::Why why) {
  switch (why) {
    case PlacementOrder::Why::kFloor:
      return "floor";
    case PlacementOrder::Why::kLoad:
      return "load";
    case PlacementOrder::Why::kNewcomer:
      return "newcomer";
    case PlacementOrder::Why::kOperator:
      return "operator";
    case PlacementOrder::Why::kConscription:
      return "conscription";
  }
  return "unknown";
}

const char* to_string(Hold hold) {
  switch (hold) {
    case Hold::kNone:
      return "none";
    case Hold::kNoReports:
      return "no_reports";
    case Hold::kNotBusy:
      return "not_busy";
    case Hold::kEven:
      return "even";
    case Hold::kNoGiver:
      return "no_giver";
    case Hold::kCost:
      return "cost";
  }
  return "unknown";
}

struct Placement::Look {
  Look(const Placement& placement, const PlacementView& seen, Time at)
      : view(seen),
        options(placement.options_),
        now(at),
        peers(each_once(seen, placement.stages_)),
        loads(placement.stages_, peers, at, options.max_age),
        givers(placement.stages_) {
    for (const auto& [id, move] : placement.under_way_) {
      const PlacedPeer* peer = find(id);
      if (peer != nullptr && peer->stage != move.from) continue;  // it is there, or elsewhere
      if (peer != nullptr) loads.leave(*peer);
      loads.expect(move.to, move.speed);
    }
    for (const PlacedPeer* peer : peers)
      if (peer->standing == Standing::kMovable && loads.is_sure(*peer) &&
          placement.under_way_.count(peer->id) == 0)
        givers[peer->stage.value()].push_back(peer);
    floor = floor_of(loads.peers());
    keeps = std::max(floor, floor_of(std::max(placement.most_now_, placement.most_before_)));
  }

  uint32_t floor_of(uint32_t peers_in_all) const {
    const auto each = static_cast<uint32_t>(peers_in_all / loads.size());
    return std::clamp<uint32_t>(each, 1, std::max(options.floor, options.min_peers_per_stage));
  }

  const PlacedPeer* find(const PeerId& id) const {
    const auto place = std::lower_bound(peers.begin(), peers.end(), id,
                                        [](const auto* a, const auto& b) { return a->id < b; });
    return place != peers.end() && (*place)->id == id ? *place : nullptr;
  }
  double cost_s(double bytes_per_s, Stage to) const {
    const double bytes = to.value() < view.state_bytes.size() ? view.state_bytes[to.value()] : 0;
    return routing::cost_s(bytes, bytes_per_s, options);
  }
  std::vector<Stage> least_loaded_first() const {
    std::vector<Stage> stages;
    for (uint32_t i = 0; i < loads.size(); ++i) stages.emplace_back(i);
    std::stable_sort(stages.begin(), stages.end(),
                     [this](Stage a, Stage b) { return loads.load(a) < loads.load(b); });
    return stages;
  }
  /// One below its floor, else the most loaded one.
  Stage neediest() const {
    const auto key = [this](Stage stage) {
      const uint32_t peers_there = loads[stage].peers;
      return std::make_tuple(std::min(peers_there, floor), -loads.load(stage));
    };
    Stage most(0);
    for (Stage stage(1); stage.value() < loads.size(); ++stage)
      if (key(stage) < key(most)) most = stage;
    return most;
  }
  /// The mean of many reports is less wrong than one of them.
  double margin(Stage a, Stage b) const {
    const auto part = [this](Stage stage) { return 1.0 / std::max(1u, loads[stage].peers); };
    return options.hysteresis * std::sqrt(part(a) + part(b));
  }
  /// What `to` gains by it and the swarm loses while it moves; nothing if the stages are about even.
  std::optional<double> gain_s(const PlacedPeer& peer, Stage to) const {
    const double speed = loads.speed(peer), before = loads.load(to);
    const double gave = loads.load(peer.stage, -speed), took = loads.load(to, speed);
    if (!(gave <= before * (1 - margin(peer.stage, to)))) return std::nullopt;
    const double relief = 1 - std::max(gave, took) / before;
    const double takes_s = cost_s(peer.bytes_per_s, to);
    const double share = loads.load(peer.stage) / gave;  // of its stage that stays
    return relief * (seconds(options.pays_within) - takes_s) - (1 - share) * takes_s;
  }
  /// The least loaded one that pays, and is not there for other reasons; where moves cost much, the
  /// cheaper one.
  Offer best(Stage from, Stage to, const std::map<PeerId, Time>& rests, Hold& hold) const {
    Offer best;
    for (const PlacedPeer* peer : givers[from.value()]) {
      const auto rest = rests.find(peer->id);
      if (rest != rests.end() && rest->second > now) continue;
      const auto gain = gain_s(*peer, to);
      if (!gain || !(*gain > 0)) {
        if (hold == Hold::kNoGiver || gain) hold = gain ? Hold::kCost : Hold::kEven;
        continue;
      }
      consider(best, *peer, to, *gain);
    }
    return best;
  }
  void consider(Offer& best, const PlacedPeer& peer, Stage to, double gain) const {
    const double score =
        peer.report->load() + cost_s(peer.bytes_per_s, to) / seconds(options.pays_within);
    if (best.peer == nullptr || score < best.score) best = {&peer, gain, score};
  }
  void gave(const PlacedPeer& peer) {
    auto& all = givers[peer.stage.value()];
    all.erase(std::find(all.begin(), all.end(), &peer));
    loads.leave(peer);
  }

  const PlacementView& view;
  const PlacementOptions& options;
  const Time now;
  const std::vector<const PlacedPeer*> peers;
  StageLoads loads;
  std::vector<std::vector<const PlacedPeer*>> givers;  ///< By stage: who may move.
  uint32_t floor = 1;                                  ///< That this swarm can have.
  uint32_t keeps = 1;  ///< Likewise, before deaths: who died may come back, and more may die.
};

Placement::Placement(uint32_t stages, const PlacementOptions& options, Time now)
    : stages_(stages), options_(options), next_(now + options.period) {
  SWARM_CHECK(stages > 0 && options.floor > 0);
}

void Placement::count(uint32_t peers, Time now) {
  if (now >= counts_until_) {
    most_before_ = std::exchange(most_now_, 0);
    counts_until_ = now + options_.period;
  }
  most_now_ = std::max(most_now_, peers);
}

/// Moves that came to an end: it serves or learns another stage, or it takes too long.
void Placement::settle(const Look& look, Time now) {
  for (auto it = under_way_.begin(); it != under_way_.end();) {
    const PlacedPeer* peer = look.find(it->first);
    const bool arrived = peer != nullptr && peer->stage != it->second.from;
    if (arrived || now >= it->second.until) {
      rests_[it->first] = now + options_.rest_periods * options_.period;
      it = under_way_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = rests_.begin(); it != rests_.end();)
    it = it->second <= now ? rests_.erase(it) : std::next(it);
}

void Placement::order(Look& look, PlacementOrder order, const PlacedPeer* mover,
                      PlacementDecision& decision) {
  StageLoads& loads = look.loads;
  const double speed = mover != nullptr ? loads.speed(*mover) : 1;
  order.to_load = loads.load(order.to);
  order.to_peers = loads[order.to].peers;
  if (mover != nullptr) {
    order.from_load = loads.load(mover->stage);
    order.from_peers = loads[mover->stage].peers;
    look.gave(*mover);
    order.from_after = loads.load(mover->stage);
  }
  loads.expect(order.to, speed);
  order.to_after = loads.load(order.to);
  // What one says of its link may be untrue.
  const double patience_s = std::min(kPatience * order.cost_s, seconds(options_.pays_within));
  const Time until = look.now + as_time(patience_s + kPatience_s);
  under_way_[order.peer] = {order.from, order.to, until, speed, order.why};
  decision.orders.push_back(std::move(order));
}

void Placement::place_newcomers(Look& look, Scope scope, PlacementDecision& decision) {
  for (const Newcomer& newcomer : look.view.newcomers) {
    if (under_way_.count(newcomer.id) > 0 || look.find(newcomer.id) != nullptr) continue;
    const bool enough = look.loads[look.neediest()].peers >= options_.min_peers_per_stage &&
                        look.loads.peers() >= options_.min_peers;
    if (scope == Scope::kToBegin && enough) return;
    PlacementOrder one;
    one.peer = newcomer.id;
    one.to = look.neediest();
    one.why = PlacementOrder::Why::kNewcomer;
    one.cost_s = look.cost_s(newcomer.bytes_per_s, one.to);
    order(look, std::move(one), nullptr, decision);
  }
}

void Placement::fill_floors(Look& look, Scope scope, PlacementDecision& decision) {
  for (;;) {
    const Stage to = look.neediest();
    if (look.loads[to].peers >= look.floor) return;
    if (scope == Scope::kUrgent && look.loads[to].sure > 0) return;
    Offer best;
    for (const Stage from : look.least_loaded_first()) {
      if (look.loads[from].sure <= look.floor) continue;
      for (const PlacedPeer* peer : look.givers[from.value()]) look.consider(best, *peer, to, 0);
      if (best.peer != nullptr) break;
    }
    if (best.peer == nullptr) {
      decision.hold = Hold::kNoGiver;
      return;
    }
    const double takes_s = look.cost_s(best.peer->bytes_per_s, to);
    order(look,
          {best.peer->id, best.peer->stage, to, PlacementOrder::Why::kFloor, 0, 0, 0, 0, 0, 0,
           takes_s, 0},
          best.peer, decision);
  }
}

/// One move after the other, each as if those before had been carried out.
Hold Placement::balance(Look& look, PlacementDecision& decision) {
  if (!look.loads.any_known()) return Hold::kNoReports;
  const auto most = static_cast<size_t>(std::ceil(options_.most_moving * look.loads.peers()));
  const auto moving = [this] {
    return static_cast<size_t>(std::count_if(under_way_.begin(), under_way_.end(), [](auto& one) {
      return one.second.from.has_value();
    }));
  };
  for (size_t count = moving(); count < std::max<size_t>(1, most); ++count) {
    const auto stages = look.least_loaded_first();
    const Stage to = stages.back();
    if (look.loads.busy(to) < options_.busy_from) return Hold::kNotBusy;
    Hold hold = Hold::kNoGiver;
    Offer best;
    for (const Stage from : stages) {
      if (from == to || best.peer != nullptr) break;
      if (look.loads[from].sure > look.keeps) best = look.best(from, to, rests_, hold);
    }
    if (best.peer == nullptr) return hold;
    const double takes_s = look.cost_s(best.peer->bytes_per_s, to);
    order(look,
          {best.peer->id, best.peer->stage, to, PlacementOrder::Why::kLoad, 0, 0, 0, 0, 0, 0,
           takes_s, best.gain_s},
          best.peer, decision);
  }
  return Hold::kNone;
}

PlacementDecision Placement::decide(const PlacementView& view, Time now, Scope scope) {
  PlacementDecision decision;
  Look look(*this, view, now);
  count(look.loads.peers(), now);
  settle(look, now);
  place_newcomers(look, scope, decision);
  if (scope == Scope::kAll || scope == Scope::kUrgent) fill_floors(look, scope, decision);
  if (now < next_ || scope == Scope::kUrgent) return decision;
  next_ = now + options_.period;
  if (scope != Scope::kAll) return decision;
  const Hold hold = balance(look, decision);
  if (decision.hold == Hold::kNone) decision.hold = hold;
  return decision;
}

Result<PlacementOrder> Placement::send(const PeerId& peer, Stage to, const PlacementView& view,
                                       Time now) {
  Look look(*this, view, now);
  const PlacedPeer* mover = look.find(peer);
  if (mover == nullptr) return Error{ErrorCode::kNotFound, "it serves no stage"};
  if (to.value() >= stages_)
    return Error{ErrorCode::kInvalidArgument,
                 "there are " + std::to_string(stages_) + " stages, from 0"};
  if (mover->stage == to) return Error{ErrorCode::kInvalidArgument, "it serves that stage already"};
  if (moves(peer)) return Error{ErrorCode::kRefused, "it is on its way to another stage already"};
  if (mover->standing != Standing::kMovable || !look.loads.is_sure(*mover))
    return Error{ErrorCode::kRefused,
                 "it does not serve at present, or its node gives it no other stage"};
  if (look.loads[mover->stage].sure < 2)
    return Error{ErrorCode::kRefused, "it is the last of its stage"};
  PlacementDecision decision;
  PlacementOrder one;
  one.peer = peer;
  one.from = mover->stage;
  one.to = to;
  one.why = PlacementOrder::Why::kOperator;
  one.cost_s = look.cost_s(mover->bytes_per_s, to);
  order(look, std::move(one), mover, decision);
  return decision.orders.front();
}

void Placement::expect(const PlacementOrder& order, Time now) {
  under_way_[order.peer] = {order.from, order.to, now + as_time(kPatience_s), 1, order.why};
}

bool Placement::may_leave(const PeerId& peer, const PlacementView& view, Time now) const {
  const auto move = under_way_.find(peer);
  if (move == under_way_.end() || !move->second.from) return false;
  const Look look(*this, view, now);  // it counts as gone there
  const auto why = move->second.why;
  const uint32_t floor = why == PlacementOrder::Why::kOperator ? 1
                         : why == PlacementOrder::Why::kLoad   ? look.keeps
                                                               : look.floor;
  return look.loads[*move->second.from].sure >= floor;
}

void Placement::cancel(const PeerId& peer, Time now) {
  if (under_way_.erase(peer) > 0) rests_[peer] = now + options_.rest_periods * options_.period;
}

void Placement::lost(const NodeId& node) {
  for (auto it = under_way_.begin(); it != under_way_.end();)
    it = it->first.node == node ? under_way_.erase(it) : std::next(it);
}

}  // namespace swarm::routing
