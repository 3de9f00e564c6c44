#include "routing/steps/repairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "routing/membership/suspects.h"
#include "routing/steps/frame.h"

namespace swarm::routing {
namespace {

constexpr const char* kNeeded = "its stage has nobody else";

int64_t seconds(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

void Repairs::refuse_sum(Frame& frame, const PeerId& id, const std::string& reason) {
  frame.dropped(id);
  PeerFacts* peer = frame.roster.find(id);
  if (peer == nullptr) return;
  peer->sum_refused = true;
  frame.order(orders::AskToRegister{id, reason});
}

bool Repairs::strike(Frame& frame, const PeerId& id, Strikes::Kind kind,
                     const std::string& reason) {
  const PeerFacts* peer = frame.roster.find(id);
  if (peer == nullptr || !frame.options.rests) return false;
  const std::string node = peer->node_name;
  if (!strikes_.strike(node, kind, frame.now) || strikes_.rests(node, frame.now) ||
      !frame.roster.is_spare(id))
    return false;
  frame.note(facts::PeerRests{id, strikes_.rest(node, frame.now), reason}, peer->stage);
  return true;
}

void Repairs::struck(Frame& frame, const PeerId& id, const std::string& reason,
                     Strikes::Kind kind) {
  if (!strike(frame, id, kind, reason)) return;
  frame.roster.peers().at(id).set_aside = true;
  frame.send_back(id, reason);
  if (frame.open.ledger) frame.open.ledger->peer_lost(id, /*may_return=*/false);
}

std::optional<Time> Repairs::rests(const PeerId& id, Frame& frame) {
  PeerFacts& peer = frame.roster.peers().at(id);
  const auto rest = strikes_.rests(peer.node_name, frame.now);
  if (!rest || !frame.is_open() || frame.nothing_to_train() || peer.serving) return std::nullopt;
  if (!frame.roster.is_spare(id)) {
    strikes_.call_back(peer.node_name);
    frame.note(facts::RestEnds{peer.node_name, kNeeded}, peer.stage);
    return std::nullopt;
  }
  peer.set_aside = true;
  return rest;
}

void Repairs::opened(Frame& frame) {
  if (frame.nothing_to_train()) return;
  for (auto& [id, peer] : frame.roster.peers()) {
    if (!peer.serving || !strikes_.rests(peer.node_name, frame.now)) continue;
    if (frame.roster.is_spare(id)) {
      peer.set_aside = true;
      frame.send_back(id, "its node rests");
      continue;
    }
    strikes_.call_back(peer.node_name);
    frame.note(facts::RestEnds{peer.node_name, kNeeded}, peer.stage);
  }
}

void Repairs::tick(Frame& frame) {
  for (const std::string& node : strikes_.rested(frame.now))
    frame.note(facts::RestEnds{node, "its time is over"});
}

bool Repairs::hangs(const PeerId& id, Frame& frame) {
  PeerFacts& peer = frame.roster.peers().at(id);
  const bool lost = peer.serving && peer.device.hangs() && frame.is_open() &&
                    !frame.nothing_to_train() && frame.roster.is_spare(id);
  if (!lost) return false;
  const std::string reason =
      fmt::format("its device hangs: it has worked on one job for {} s, others take {} s",
                  seconds(peer.device.job), seconds(peer.device.usual));
  strike(frame, id, Strikes::Kind::kHung, reason);
  peer.serving = false;
  frame.note(facts::PeerLost{id, reason}, peer.stage);
  return true;
}

bool Repairs::busy(const PeerId& id, Frame& frame) const {
  PeerFacts& peer = frame.roster.peers().at(id);
  if (peer.serving || peer.learns() || !frame.is_open() || frame.nothing_to_train()) return false;
  const Time job = peer.device.job;
  const bool same = peer.silent_at && job > Time() && frame.now - job <= *peer.silent_at;
  if (!same) peer.silent_at.reset();
  if ((!same && !peer.device.hangs()) || !frame.roster.is_spare(id)) return false;
  peer.set_aside = true;
  return true;
}

std::vector<Replica> Repairs::replace_odd(Frame& frame, Step step,
                                          const std::vector<Replica>& replicas) {
  const OddReplicas found = odd_replicas(replicas);
  for (const Replica& one : found.odd) {
    frame.order(disbelieve(frame.roster.peers().at(one.peer), step, one, found.right));
    frame.send_back(one.peer, "its replicas have other bits");
  }
  return found.odd;
}

std::vector<PeerId> Repairs::differs(Frame& frame, const PeerId& id) {
  auto& peers = frame.roster.peers();
  PeerFacts& peer = peers.at(id);
  const Replica own{id, peer.checksum, peer.changed_at_rest};
  if (peer.wrong_checksum == own.checksum) return {};  // known
  facts::ReplicasCompared compared;
  compared.found = {{own.checksum}, 1};
  std::vector<Replica> others;
  for (const PeerId& other : frame.roster.serving(peer.stage)) {
    const PeerFacts& one = peers.at(other);
    if (one.checksum == 0 || one.checksum_step != peer.step || one.commit_pending) continue;
    ++compared.found.replicas;
    compared.found.checksums.insert(one.checksum);
    if (one.checksum != own.checksum) others.push_back({other, one.checksum, one.changed_at_rest});
  }
  if (others.empty()) return {};
  frame.order(orders::Note{peer.stage, peer.step, compared});
  const bool believed =
      !own.changed_at_rest && std::all_of(others.begin(), others.end(),
                                          [](const Replica& one) { return one.changed_at_rest; });
  if (!believed) {
    frame.order(disbelieve(peer, peer.step, own, others.front().checksum));
    return {};
  }
  std::vector<PeerId> gone;
  for (const Replica& one : others) {
    frame.order(disbelieve(peers.at(one.peer), peer.step, one, own.checksum));
    frame.send_back(one.peer, "its replicas have other bits");
    gone.push_back(one.peer);
  }
  return gone;
}

}  // namespace swarm::routing
