// Relocation: peers of others that take over a stage of which nobody is left.
#include <algorithm>
#include <iterator>
#include <limits>

#include "common/names.h"
#include "routing/membership/relocation.h"

namespace swarm::routing {
namespace {

/// From the order until it leaves its stage. Another one goes then.
constexpr Time kLeavePatience = std::chrono::seconds(20);
/// Until it registers with its new stage: it makes that, and reads snapshots. A lost link tells sooner.
constexpr Time kArrivePatience = std::chrono::seconds(120);
/// Who is known and has said nothing for so long is not waited for.
constexpr Time kReportPatience = std::chrono::seconds(5);

bool is_conscript(const PlacementOrder& order) {
  return order.why == PlacementOrder::Why::kConscription;
}

/// Who announces itself and is not known here, while others may reach them.
std::vector<uint32_t> unreached(const Levy& levy, const std::set<PeerId>& known, size_t stages) {
  std::vector<uint32_t> found(stages);
  if (!levy.others_may_lead) return found;
  for (const auto& [stage, places] : levy.announced)
    for (const PeerId& place : places)
      if (stage.value() < stages && known.count(place) == 0) ++found[stage.value()];
  return found;
}

}  // namespace

PeerId place_of(const PeerId& id) {
  auto name = RoleName::parse(id.actor);
  if (!name) return id;
  name->life = 0;
  return {id.node, name->text()};
}

Muster Relocation::muster(const Levy& levy, Time now, const PeerId* leaver) const {
  Muster muster;
  muster.own.resize(roster_.num_stages());
  muster.sent.resize(roster_.num_stages());
  muster.agreed = levy.agreed;
  muster.complete = true;
  // Places of conscripts, of those of them that have not left yet, and of all who are known.
  std::set<PeerId> sent, going, known_places;
  for (const auto& [number, mover] : movers_) {
    const PlacementOrder& order = mover.order;
    known_places.insert(order.peer);
    // Who is to leave for other reasons may not while the swarm gathers.
    const bool comes = !mover.arrived && (mover.left || !order.from);
    if (comes || is_conscript(order)) ++muster.sent[order.to.value()];
    if (is_conscript(order)) (mover.left ? sent : going).insert(order.peer);
  }
  for (const auto& [id, peer] : roster_.peers()) {
    const PeerId place = place_of(id);
    known_places.insert(place);
    if (!peer.leaves && sent.count(place) == 0) ++muster.own[peer.stage.value()];
    const auto known = known_.find(place);
    const bool heard = known != known_.end() && known->second.load &&
                       now - known->second.load->at < kReportPatience;
    muster.complete &= peer.reported || !heard;
  }
  muster.unreached = unreached(levy, known_places, roster_.num_stages());
  for (const PeerSupply& supply : levy.supplies) {
    const PeerFacts* peer = roster_.find(supply.peer);
    const PeerId place = place_of(supply.peer);
    const bool goes = going.count(place) != 0 && (leaver == nullptr || *leaver != supply.peer);
    if (peer == nullptr || peer->leaves || goes) continue;
    const auto known = known_.find(place);
    const bool here = known != known_.end() && is_here(*peer, known->second, now) &&
                      levy.barred.count(place.node) == 0;
    const bool may_move =
        here && known->second.may_move && !peer->learns() && sent.count(place) == 0;
    muster.peers.push_back({supply, peer->node_name, may_move, placement_->rests(place, now),
                            peer->keeps_copies, here});
  }
  return muster;
}

void Relocation::recall(bool open, Time now) {
  std::set<PeerId> sent;
  for (const auto& [number, mover] : movers_)
    if (is_conscript(mover.order) && mover.left) sent.insert(mover.order.peer);
  std::set<Stage> served;  // by those of their own
  for (const auto& [id, peer] : roster_.peers())
    if (!peer.leaves && sent.count(place_of(id)) == 0) served.insert(peer.stage);
  for (auto it = movers_.begin(); it != movers_.end();) {
    const auto mover = it++;
    const Mover& one = mover->second;
    const bool conscript = is_conscript(one.order);
    const bool comes = one.left || !one.order.from;
    const bool needed = !open && served.count(one.order.to) == 0;
    if (one.arrived || (!conscript && !(comes && needed))) continue;
    if (conscript && !one.left && !needed)
      give_up(mover, "the stage has a peer again", now);
    else if (now - one.since >= (comes ? kArrivePatience : kLeavePatience))
      give_up(mover, "it takes too long", now);
  }
}

void Relocation::levy(const Levy& levy, Time now) {
  if (!placement_) return;
  recall(/*open=*/false, now);
  const auto decision = conscription_.decide(muster(levy, now), now);
  for (const ConscriptionOrder& one : decision.orders) {
    PlacementOrder order;
    order.peer = place_of(one.peer);
    order.from = one.from;
    order.to = one.to;
    order.why = PlacementOrder::Why::kConscription;
    order.to_load = std::numeric_limits<double>::infinity();
    order.from_peers = one.from_peers;
    order.to_peers = one.to_peers;
    order.step = one.step;
    placement_->expect(order, now);
    keep(order, now);
  }
  if (decision.tell)
    notes_.push_back(ConscriptionHeld{decision.stage, decision.hold, decision.missing});
}

}  // namespace swarm::routing
