#include "routing/membership/roster.h"

#include <algorithm>

#include "common/names.h"

namespace swarm::routing {

PeerFacts* Roster::find(const PeerId& id) {
  auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : &found->second;
}

const PeerFacts* Roster::find(const PeerId& id) const {
  auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : &found->second;
}

bool Roster::report(const PeerId& id, Stage stage, const std::string& node_name,
                    const PeerReport& report) {
  auto [it, is_new] = peers_.try_emplace(id);
  PeerFacts& peer = it->second;
  peer.node_name = node_name;
  peer.stage = stage;
  peer.reported = true;
  if (peer.commit_pending) {
    peer.snapshots = report.snapshots;
    return is_new;
  }
  static_cast<PeerReport&>(peer) = report;
  peer.checksum_step.reset();
  if (peer.has_state) peer.checksum_step = peer.step;
  return is_new;
}

std::vector<PeerId> Roster::predecessors(const PeerId& id) const {
  std::vector<PeerId> before;
  for (const auto& [other, peer] : peers_)
    if (other != id && same_role(other, id)) before.push_back(other);
  return before;
}

std::vector<PeerId> Roster::peers_of(const NodeId& node) const {
  std::vector<PeerId> found;
  for (const auto& [id, peer] : peers_)
    if (id.node == node) found.push_back(id);
  return found;
}

std::vector<PeerId> Roster::serving(Stage stage) const {
  std::vector<PeerId> found;
  for (const auto& [id, peer] : peers_)
    if (peer.serving && peer.stage == stage) found.push_back(id);
  return found;
}

std::vector<uint32_t> Roster::serving_by_stage() const {
  std::vector<uint32_t> counts(num_stages_, 0);
  for (const auto& [id, peer] : peers_)
    if (peer.serving) ++counts[peer.stage.value()];
  return counts;
}

size_t Roster::serving_in_all() const {
  return static_cast<size_t>(std::count_if(peers_.begin(), peers_.end(),
                                           [](const auto& one) { return one.second.serving; }));
}

std::optional<Stage> Roster::unserved_stage() const {
  const auto counts = serving_by_stage();
  const auto empty = std::find(counts.begin(), counts.end(), 0u);
  if (empty == counts.end()) return std::nullopt;
  return Stage(static_cast<uint32_t>(empty - counts.begin()));
}

std::optional<Stage> Roster::silent_stage() const {
  std::set<Stage> heard;
  for (const auto& [id, peer] : peers_)
    if (peer.reported) heard.insert(peer.stage);
  for (Stage stage; stage.value() < num_stages_; ++stage)
    if (heard.count(stage) == 0) return stage;
  return std::nullopt;
}

bool Roster::newcomers_wait() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& one) {
    return !one.second.serving && !one.second.set_aside && one.second.ready();
  });
}

Time Roster::save_limit() const {
  Time longest{};
  for (const auto& [id, peer] : peers_)
    if (peer.serving) longest = std::max(longest, peer.save_limit);
  return longest;
}

uint32_t Roster::reported() const {
  return static_cast<uint32_t>(std::count_if(peers_.begin(), peers_.end(),
                                             [](const auto& one) { return one.second.reported; }));
}

bool Roster::everywhere(Step step) const {
  std::set<Stage> there;
  for (const auto& [id, peer] : peers_) {
    if (!peer.serving) continue;  // who has just started lists what it has not read yet
    const bool durable = std::any_of(peer.snapshots.begin(), peer.snapshots.end(),
                                     [step](Step stored) { return stored >= step; });
    if (durable) there.insert(peer.stage);
  }
  return there.size() == num_stages_;
}

std::vector<PeerSupply> Roster::supplies() const {
  std::vector<PeerSupply> supplies;
  for (const auto& [id, peer] : peers_)
    if (peer.reported)
      supplies.push_back({id, peer.stage, peer.has_state, peer.step, peer.snapshots});
  return supplies;
}

Bits Roster::compare_bits(const PeerId& id) const {
  const PeerFacts& peer = peers_.at(id);
  Bits result = Bits::kEqual;
  for (const PeerId& other : serving(peer.stage)) {
    const PeerFacts& replica = peers_.at(other);
    if (other == id || replica.checksum == 0) continue;
    if (replica.checksum_step == peer.step)
      return replica.checksum == peer.checksum ? Bits::kEqual : Bits::kOther;
    result = Bits::kNotKnown;  // its commit is under way
  }
  return result;
}

std::optional<ReplicaComparison> Roster::replicas_at(Stage stage, Step step) const {
  ReplicaComparison found;
  for (const auto& [id, peer] : peers_) {
    if (peer.stage != stage || !peer.serving) continue;
    if (peer.commit_pending || peer.checksum_step != step) return std::nullopt;
    ++found.replicas;
    found.checksums.insert(peer.checksum);
  }
  return found;
}

ReplicaComparison Roster::replicas_after(Round round, const std::vector<PeerId>& members) const {
  ReplicaComparison found;
  for (const PeerId& id : members) {
    const PeerFacts* peer = find(id);
    if (peer == nullptr || !peer->after_round || peer->after_round->round != round) continue;
    ++found.replicas;
    found.checksums.insert(peer->after_round->checksum);
  }
  return found;
}

std::vector<ActorId> Roster::trainers_of(const NodeId& node) const {
  std::vector<ActorId> found;
  for (const ActorId& trainer : trainers_)
    if (trainer.node == node) found.push_back(trainer);
  return found;
}

void Roster::clear() {
  peers_.clear();
  trainers_.clear();
}

void NodeTraffic::report(const NodeId& node, const Bytes& sent) {
  Bytes& known = sent_[node];
  known.resize(std::max(known.size(), sent.size()), 0);
  for (size_t i = 0; i < sent.size(); ++i) known[i] = std::max(known[i], sent[i]);
}

uint64_t NodeTraffic::work_bytes() const {
  uint64_t sum = 0;
  for (const auto& [node, bytes] : sent_)
    for (size_t i = 1; i < bytes.size(); ++i) sum += bytes[i];
  return sum;
}

NodeTraffic::Bytes NodeTraffic::since_last(size_t classes) {
  Bytes sent(classes, 0);
  for (const auto& [node, bytes] : sent_)
    for (size_t i = 0; i < classes && i < bytes.size(); ++i) sent[i] += bytes[i];
  before_.resize(classes, 0);
  Bytes difference(classes, 0);
  for (size_t i = 0; i < classes; ++i)
    difference[i] = sent[i] > before_[i] ? sent[i] - before_[i] : 0;
  before_ = std::move(sent);
  return difference;
}

}  // namespace swarm::routing
