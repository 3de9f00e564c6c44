#include "routing/membership/relocation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/names.h"
#include "routing/membership/departure.h"

namespace swarm::routing {
namespace {

using Kind = LeaveAnswer::Kind;
using Scope = Placement::Scope;
using Standing = PlacedPeer::Standing;

/// After a gathering peers that were elsewhere come back: stages are not as small as they seem.
constexpr Time kSettle = std::chrono::seconds(10);
/// Parameters and two moments.
constexpr double kStatePerAverage = 3;

PeerId place_of(const PeerId& id) {
  auto name = RoleName::parse(id.actor);
  if (!name) return id;
  name->life = 0;
  return {id.node, name->text()};
}

double mean(double before, double said, double weight) {
  return std::isfinite(before) ? before + weight * (said - before) : said;
}

template <class Map>
void forget(Map& all, const NodeId& node) {
  for (auto it = all.begin(); it != all.end();)
    it = it->first.node == node ? all.erase(it) : std::next(it);
}

}  // namespace

Relocation::Relocation(uint32_t stages, bool asynchronous, const PlacementOptions& options,
                       Roster& roster)
    : asynchronous_(asynchronous), options_(options), roster_(roster), state_bytes_(stages, 0) {}

void Relocation::begin(Term term, Time now) {
  end(now);
  term_ = term;
  placement_.emplace(static_cast<uint32_t>(state_bytes_.size()), options_, now);
}

void Relocation::end(Time now) {
  while (!movers_.empty()) give_up(movers_.begin(), "the coordinator's term is over", now);
  placement_.reset();
  known_.clear();
  waiting_.clear();
  left_.clear();
  numbers_ = 0;
  open_since_.reset();
  hold_ = PlacementHold::kNone;
}

// -- what is known

/// Registrations come often: their mean over about a period.
void Relocation::hear(Known& known, Stage stage, const WorkReport& work, Time now) const {
  LoadReport told{stage, now, work.running, work.queued, work.done_per_s};
  if (known.load && known.load->stage == stage) {
    const LoadReport& before = *known.load;
    const std::chrono::duration<double> apart = now - before.at,
                                        over = std::min(now - known.since, options_.period);
    const double weight = over.count() > 0 ? std::min(1.0, apart / over) : 0;
    told.running = mean(before.running, told.running, weight);
    told.queued = mean(before.queued, told.queued, weight);
    told.done_per_s = mean(before.done_per_s, told.done_per_s, weight);
  } else {
    known.since = now;
  }
  known.load = told;
}

void Relocation::learn_bytes(const PeerFacts& peer) {
  double& bytes = state_bytes_[peer.stage.value()];
  if (peer.state_bytes > 0)
    bytes = static_cast<double>(peer.state_bytes);
  else if (bytes == 0)
    bytes = kStatePerAverage * static_cast<double>(peer.average_bytes);
}

PlacementView Relocation::view(Time now) const {
  PlacementView seen;
  seen.state_bytes = state_bytes_;
  for (const auto& [id, peer] : roster_.peers()) {
    PlacedPeer one;
    one.id = place_of(id);
    one.stage = peer.stage;
    one.bytes_per_s = peer.link.down;
    const auto known = known_.find(one.id);
    const bool may_move = known != known_.end() && known->second.may_move;
    one.standing = peer.leaves     ? Standing::kLeaves
                   : !peer.serving ? Standing::kLearns
                   : may_move      ? Standing::kMovable
                                   : Standing::kStays;
    if (known != known_.end()) one.report = known->second.load;
    seen.peers.push_back(std::move(one));
  }
  for (const auto& [place, one] : waiting_)
    if (now - one.at <= options_.max_age) seen.newcomers.push_back({place, one.bytes_per_s});
  return seen;
}

std::string Relocation::name_of(const PeerId& place) const {
  if (const auto known = known_.find(place); known != known_.end()) return known->second.node_name;
  const auto waits = waiting_.find(place);
  return waits == waiting_.end() ? place.brief() : waits->second.node_name;
}

Relocation::Movers::iterator Relocation::mover_of(const PeerId& place) {
  return std::find_if(movers_.begin(), movers_.end(),
                      [&](const auto& one) { return one.second.order.peer == place; });
}

// -- orders

void Relocation::keep(const PlacementOrder& order, Time now) {
  const std::string name = name_of(order.peer);
  if (const auto before = mover_of(order.peer); before != movers_.end())
    drop(before, "it has another order");
  movers_[++numbers_] = {order, name, now, {}, false, false};
  notes_.push_back(MoveOrdered{name, numbers_, order});
}

void Relocation::give_up(Movers::iterator mover, const std::string& reason, Time now) {
  placement_->cancel(mover->second.order.peer, now);
  drop(mover, reason);
}

void Relocation::drop(Movers::iterator mover, const std::string& reason) {
  const Mover& one = mover->second;
  notes_.push_back(MoveGivenUp{one.node_name, one.order.to, reason});
  for (auto& [id, peer] : roster_.peers())
    if (place_of(id) == one.order.peer) peer.departs = false;
  movers_.erase(mover);
}

/// Nobody waits for them any longer, or those that would stay behind are too few by now.
void Relocation::drop_lapsed(Time now) {
  if (movers_.empty() || !open_since_) return;
  const PlacementView seen = view(now);
  for (auto it = movers_.begin(); it != movers_.end();) {
    const auto mover = it++;
    const Mover& one = mover->second;
    if (one.arrived) continue;
    const PeerId& place = one.order.peer;
    if (!placement_->moves(place))
      give_up(mover, "it takes too long", now);
    else if (one.order.from && !one.left && !placement_->may_leave(place, seen, now))
      give_up(mover, "its stage would have too few peers", now);
  }
}

bool Relocation::moves(Time now) const {
  return options_.moves && open_since_ && now - *open_since_ >= std::min(options_.period, kSettle);
}

PlacementDecision Relocation::decide(Time now, Scope scope) {
  drop_lapsed(now);  // before they are missed where they were
  const PlacementView seen = view(now);
  PlacementDecision decision = placement_->decide(seen, now, scope);
  for (const PlacementOrder& order : decision.orders) keep(order, now);
  drop_lapsed(now);
  const bool any = std::any_of(seen.peers.begin(), seen.peers.end(), [](const PlacedPeer& one) {
    return one.standing == Standing::kMovable;
  });
  if (!decision.orders.empty()) hold_ = PlacementHold::kNone;
  if (any && decision.hold != PlacementHold::kNone && decision.hold != hold_)
    notes_.push_back(MovesHeld{hold_ = decision.hold});
  return decision;
}

void Relocation::look(bool open, Time now) {
  if (!placement_) return;
  if (!open) open_since_.reset();
  if (open && !open_since_) open_since_ = now;
  const bool may = moves(now);
  bool due = std::exchange(peers_, roster_.peers().size()) != roster_.peers().size();
  due |= std::exchange(moved_, may) != may;
  due |= std::exchange(changed_, false);
  due |= now >= placement_->next();
  if (due) decide(now, may ? Scope::kAll : Scope::kNewcomers);
}

Result<PlacementOrder> Relocation::send(const std::string& peer, Stage to, Time now) {
  std::vector<PeerId> found;
  for (const auto& [id, facts] : roster_.peers()) {
    const PeerId place = place_of(id);
    if (peer == facts.node_name || peer == facts.node_name + "/" + place.actor)
      found.push_back(place);
  }
  if (!placement_ || found.empty())
    return Error{ErrorCode::kNotFound, "no peer '" + peer + "'; stages lists them"};
  if (found.size() > 1)
    return Error{ErrorCode::kInvalidArgument, peer + " serves several stages: name one of them, " +
                                                  peer + "/" + found.front().actor};
  auto order = placement_->send(found.front(), to, view(now), now);
  if (order) keep(*order, now);
  return order;
}

Result<PlacementDecision> Relocation::rebalance(Time now) {
  if (!placement_ || !open_since_)
    return Error{ErrorCode::kNotReady, "nobody moves while the swarm gathers"};
  placement_->hurry(now);
  return decide(now, Scope::kAll);
}

// -- peers

Relocation::Told Relocation::registered(const PeerId& id, const WorkReport& work, Time now) {
  const PeerFacts* peer = roster_.find(id);
  if (!placement_ || peer == nullptr) return {};
  const PeerId place = place_of(id);
  const auto [known, is_new] = known_.try_emplace(place);
  changed_ |= is_new;
  known->second.node_name = peer->node_name;
  known->second.may_move = work.may_move;
  hear(known->second, peer->stage, work, now);
  learn_bytes(*peer);
  waiting_.erase(place);
  const auto found = mover_of(place);
  if (found == movers_.end()) return {};
  Mover& mover = found->second;
  const PlacementOrder& order = mover.order;
  if (peer->stage == order.to) {
    mover.arrived = true;
    if (!peer->serving) return {};
    notes_.push_back(
        MoveDone{mover.node_name, order.to, now - mover.since, state_bytes_[order.to.value()]});
    movers_.erase(found);
    return {};
  }
  if (mover.left || mover.arrived || peer->stage != order.from) {
    give_up(found, "it serves stage " + std::to_string(peer->stage.value()), now);
    return {};
  }
  const bool shown = work.moves_by == found->first && work.moves_term == term_;
  return {found->first, order.to, shown};
}

Relocation::Told Relocation::wants_stage(const PeerId& id, const std::string& node_name,
                                         double bytes_per_s, Time now) {
  if (!placement_) return {};
  const PeerId place = place_of(id);
  known_.erase(place);
  waiting_[place] = {node_name, bytes_per_s, now};
  auto found = mover_of(place);
  if (found != movers_.end() && (found->second.order.from || found->second.arrived)) {
    give_up(found, "it serves no stage any more", now);
    found = movers_.end();
  }
  if (found == movers_.end()) {
    decide(now, Scope::kNewcomers);
    found = mover_of(place);
  }
  if (found == movers_.end()) return {};
  return {found->first, found->second.order.to, false};
}

uint64_t Relocation::left_by(const PeerId& id) const {
  const auto found = left_.find(id);
  return found == left_.end() ? 0 : found->second;
}

void Relocation::leaves(const PeerId& id, Time now) {
  const PeerId place = place_of(id);
  waiting_.erase(place);
  if (const auto found = mover_of(place); found != movers_.end())
    give_up(found, "its node was told to leave", now);
}

void Relocation::lost(const NodeId& node, Time now) {
  forget(known_, node);
  forget(waiting_, node);
  forget(left_, node);
  for (auto it = movers_.begin(); it != movers_.end();) {
    const auto mover = it++;
    if (mover->second.order.peer.node == node) give_up(mover, "the link to it is lost", now);
  }
}

LeaveAnswer Relocation::may_leave(const PeerId& id, uint64_t number, Term term,
                                  const Schedule& schedule, Time now) {
  if (!placement_ || term != term_) return {Kind::kNo, "the order is of another term"};
  if (number != 0 && left_by(id) == number) return {Kind::kAgain, {}};
  const auto found = movers_.find(number);
  if (found == movers_.end() || found->second.order.peer != place_of(id))
    return {Kind::kNo, "the order has lapsed"};
  Mover& mover = found->second;
  if (!mover.order.from) return {Kind::kAgain, {}};  // it is in no stage
  PeerFacts* peer = roster_.find(id);
  if (peer == nullptr || peer->stage != *mover.order.from)
    return {Kind::kLater, "it has not registered"};
  const Frame& frame = schedule.frame();
  if (asynchronous_ && frame.is_open() && !mover.asked_in)
    mover.asked_in = frame.open.stages[peer->stage.value()].round;
  const Departure then = departure(schedule, id, *peer, mover.asked_in);
  if (then == Departure::kGathers) return {Kind::kLater, "the swarm gathers"};
  const bool over = then == Departure::kOver;
  if (over || !placement_->may_leave(mover.order.peer, view(now), now)) {
    const std::string why = over ? "training is over" : "its stage would have too few peers";
    give_up(found, why, now);
    return {Kind::kNo, why};
  }
  peer->departs = then == Departure::kHasPart;
  if (peer->departs) return {Kind::kLater, "it has a part in what is under way"};
  mover.left = true;
  left_[id] = number;
  return {Kind::kYes, {}};
}

std::vector<MoveNote> Relocation::take_notes() { return std::exchange(notes_, {}); }

}  // namespace swarm::routing
