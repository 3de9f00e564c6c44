#include "routing/membership/relocation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/names.h"

namespace swarm::routing {
namespace {

using Kind = LeaveAnswer::Kind;
using Scope = Placement::Scope;
using Standing = PlacedPeer::Standing;

/// After a gathering peers that were elsewhere come back: stages are not as small as they seem.
constexpr Time kSettle = std::chrono::seconds(10);
/// Orders to newcomers that have not come yet: anybody may say that it is one.
constexpr size_t kMostNewcomers = 16;
/// Parameters and two moments.
constexpr double kStatePerAverage = 3;
constexpr const char* kNotNeeded = "its stage cannot spare it, or the other one has a peer again";

double mean(double before, double said, double weight) {
  return std::isfinite(before) ? before + weight * (said - before) : said;
}

/// True if there was one.
template <class Map>
bool forget(Map& all, const NodeId& node) {
  const size_t before = all.size();
  for (auto it = all.begin(); it != all.end();)
    it = it->first.node == node ? all.erase(it) : std::next(it);
  return all.size() < before;
}

/// For what people are told when it is gone.
void tell_snapshots(const PeerFacts& peer, Conscription& conscription) {
  for (const Step step : peer.snapshots) conscription.saw(peer.stage, peer.node_name, step);
  for (const StoredCopy& copy : peer.copies)
    conscription.saw(copy.stage, peer.node_name, copy.step);
}

}  // namespace

Relocation::Relocation(uint32_t stages, bool asynchronous, const PlacementOptions& options,
                       Roster& roster)
    : options_(options),
      roster_(roster),
      conscription_(stages, {options.gone_after, options.min_peers_per_stage, asynchronous}),
      state_bytes_(stages, 0) {}

void Relocation::begin(Term term, Time now) {
  if (!placement_) conscription_.begin();  // else only the term is another
  end(now);
  term_ = term;
  quiet_since_ = now;
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
  lost_at_.reset();
  scope_.reset();
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

bool Relocation::is_here(const PeerFacts& peer, const Known& known, Time now) const {
  return known.load && now - known.load->at <= options_.here_within && peer.reachable &&
         !peer.commit_pending && !peer.silent_at;
}

PlacementView Relocation::view(Time now, bool surely) const {
  PlacementView seen;
  seen.state_bytes = state_bytes_;
  for (const auto& [id, peer] : roster_.peers()) {
    PlacedPeer one;
    one.id = place_of(id);
    one.stage = peer.stage;
    one.bytes_per_s = peer.link.down;
    const auto known = known_.find(one.id);
    const bool may_move = known != known_.end() && known->second.may_move;
    const bool here = known != known_.end() && is_here(peer, known->second, now);
    one.standing = peer.leaves                          ? Standing::kLeaves
                   : !peer.serving || (surely && !here) ? Standing::kLearns
                   : may_move                           ? Standing::kMovable
                                                        : Standing::kStays;
    if (known != known_.end()) one.report = known->second.load;
    seen.peers.push_back(std::move(one));
  }
  const auto told = std::count_if(movers_.begin(), movers_.end(), [this](const auto& mover) {
    const Mover& one = mover.second;
    return !one.order.from && !one.arrived && placement_->moves(one.order.peer);
  });
  for (const auto& [node, one] : waiting_) {
    if (static_cast<size_t>(told) + seen.newcomers.size() >= kMostNewcomers) break;
    if (!placement_->moves(one.place)) seen.newcomers.push_back({one.place, one.bytes_per_s});
  }
  return seen;
}

std::string Relocation::name_of(const PeerId& place) const {
  if (const auto known = known_.find(place); known != known_.end()) return known->second.node_name;
  const auto waits = waiting_.find(place.node);
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

std::optional<Scope> Relocation::scope(Time now) const {
  if (!open_since_ && now - quiet_since_ < options_.start_grace) return std::nullopt;
  if (!open_since_) return Scope::kToBegin;
  const Time settle = std::min(options_.period, kSettle);
  if (!options_.moves || now - *open_since_ < settle) return Scope::kNewcomers;
  return lost_at_ && now - *lost_at_ < settle ? Scope::kUrgent : Scope::kAll;
}

PlacementDecision Relocation::decide(Time now, Scope scope) {
  drop_lapsed(now);  // before they are missed where they were
  for (auto it = waiting_.begin(); it != waiting_.end();)
    it = now - it->second.at > options_.max_age ? waiting_.erase(it) : std::next(it);
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
  if (!open && std::exchange(open_since_, std::nullopt)) quiet_since_ = now;
  if (open && !open_since_) {
    open_since_ = now;
    conscription_.begin();
    recall(open, now);
  }
  const auto may = scope(now);
  bool due = std::exchange(peers_, roster_.peers().size()) != roster_.peers().size();
  due |= std::exchange(scope_, may) != may;
  due |= std::exchange(changed_, false);
  due |= now >= placement_->next() && may != Scope::kUrgent;
  if (due && may) decide(now, *may);
}

Result<PlacementOrder> Relocation::send(const std::string& peer, Stage to, Time now) {
  std::vector<PeerId> found;
  for (const auto& [id, facts] : roster_.peers()) {
    const PeerId place = place_of(id);
    if (peer == facts.node_name || peer == facts.node_name + "/" + place.actor)
      found.push_back(place);
  }
  if (!placement_ || found.empty())
    return Error{ErrorCode::kInvalidArgument, "no peer '" + peer + "'; stages lists them"};
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

bool Relocation::shows(const WorkReport& work, uint64_t number) const {
  return work.moves_by == number && work.moves_term == term_;
}

Relocation::Told Relocation::registered(const PeerId& id, const WorkReport& work, Time now) {
  const PeerFacts* peer = roster_.find(id);
  if (!placement_ || peer == nullptr) return {};
  const PeerId place = place_of(id);
  const auto [known, is_new] = known_.try_emplace(place);
  changed_ |= is_new;
  if (is_new) quiet_since_ = now;
  known->second.node_name = peer->node_name;
  known->second.may_move = work.may_move;
  hear(known->second, peer->stage, work, now);
  learn_bytes(*peer);
  tell_snapshots(*peer, conscription_);
  waiting_.erase(place.node);
  const auto found = mover_of(place);
  if (found == movers_.end()) return {};
  Mover& mover = found->second;
  const PlacementOrder& order = mover.order;
  if (peer->stage == order.to) {
    mover.arrived = true;
    if (!peer->serving) return {};
    const auto bytes = static_cast<uint64_t>(std::min(state_bytes_[order.to.value()], 1e18));
    notes_.push_back(MoveDone{mover.node_name, order.to, now - mover.since, bytes});
    movers_.erase(found);
    return {};
  }
  if (mover.left || mover.arrived || peer->stage != order.from) {
    give_up(found, "it serves stage " + std::to_string(peer->stage.value()), now);
    return {};
  }
  if (peer->learns()) {
    give_up(found, "it has lost its state", now);
    return {};
  }
  const bool shown = shows(work, found->first);
  if (!shown) mover.asked_in.reset();
  return {found->first, order.to, shown, order.why == PlacementOrder::Why::kConscription};
}

Relocation::Told Relocation::wants_stage(const PeerId& id, const std::string& node_name,
                                         double bytes_per_s, Time now) {
  const auto role = RoleName::parse(id.actor);
  if (!placement_ || !role || role->role != Role::kStage) return {};
  const PeerId place = place_of(id);
  const auto waits = waiting_.find(place.node);
  if (waits != waiting_.end() && waits->second.place != place) return {};  // until that is too old
  known_.erase(place);
  waiting_[place.node] = {place, node_name, bytes_per_s, now};
  auto found = mover_of(place);
  if (found != movers_.end() && (found->second.order.from || found->second.arrived)) {
    give_up(found, "it serves no stage any more", now);
    found = movers_.end();
  }
  if (const auto may = scope(now); may && found == movers_.end()) {
    decide(now, *may);
    found = mover_of(place);
  }
  if (found == movers_.end()) return {};
  return {found->first, found->second.order.to, false};
}

uint64_t Relocation::left_by(const PeerId& id) const {
  const auto found = left_.find(id);
  return found == left_.end() ? 0 : found->second;
}

void Relocation::comes_back(const PeerId& id, const WorkReport& work, Time now) {
  const uint64_t number = left_by(id);
  if (number == 0 || shows(work, number)) return;
  left_.erase(id);
  if (const auto found = movers_.find(number); found != movers_.end())
    give_up(found, "it did not hear that it might leave", now);
}

void Relocation::leaves(const PeerId& id, Time now) {
  const PeerId place = place_of(id);
  waiting_.erase(place.node);
  if (const auto found = mover_of(place); found != movers_.end())
    give_up(found, "its node was told to leave", now);
}

void Relocation::lost(const NodeId& node, Time now) {
  if (forget(known_, node)) lost_at_ = now;
  waiting_.erase(node);
  forget(left_, node);
  for (auto it = movers_.begin(); it != movers_.end();) {
    const auto mover = it++;
    if (mover->second.order.peer.node == node) give_up(mover, "the link to it is lost", now);
  }
}

LeaveAnswer Relocation::may_leave(const PeerId& id, uint64_t number, Term term,
                                  const Schedule& schedule, Time now,
                                  const std::optional<Levy>& levy) {
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
  const bool conscript = mover.order.why == PlacementOrder::Why::kConscription;
  if (levy && conscript) {
    const PeerId leaver = id;
    if (!conscription_.may_leave(id, mover.order.to, muster(*levy, now, &leaver))) {
      give_up(found, kNotNeeded, now);
      return {Kind::kNo, kNotNeeded};
    }
    mover.left = true;
    left_[id] = number;
    return {Kind::kYes, {}};
  }
  if (peer->serving && !mover.asked_in) mover.asked_in = leaves_after(frame, peer->stage);
  const Departure then = departure(schedule, id, *peer, mover.asked_in);
  if (then == Departure::kGathers) return {Kind::kLater, "the swarm gathers"};
  if (then == Departure::kServesNot) return {Kind::kLater, "it does not serve at present"};
  const bool over = then == Departure::kOver;
  if (over || !placement_->may_leave(mover.order.peer, view(now), now)) {
    const std::string why = over ? "training is over" : "its stage would have too few peers";
    give_up(found, why, now);
    return {Kind::kNo, why};
  }
  const bool has_part = then == Departure::kHasPart;
  peer->departs = has_part || !placement_->may_leave(mover.order.peer, view(now, true), now);
  if (has_part) return {Kind::kLater, "it has a part in what is under way"};
  if (peer->departs) return {Kind::kLater, "others of its stage may be gone"};
  mover.left = true;
  left_[id] = number;
  return {Kind::kYes, {}};
}

std::vector<MoveNote> Relocation::take_notes() { return std::exchange(notes_, {}); }

}  // namespace swarm::routing
