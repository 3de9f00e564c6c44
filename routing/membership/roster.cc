#include "routing/membership/roster.h"

#include <algorithm>

#include "common/names.h"

namespace swarm::routing {
namespace {
/// Snapshots in a row: one may meet a full disk that is about to be cleared.
constexpr uint32_t kTolerableFailures = 2;
}  // namespace

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
  const bool is_new = expect(id, stage, node_name);
  PeerFacts& peer = peers_.at(id);
  peer.reported = true;
  if (peer.commit_pending) {
    peer.snapshots = report.snapshots;
    peer.saves = report.saves;
    peer.device = report.device;
    peer.copies = report.copies;
    return is_new;
  }
  static_cast<PeerReport&>(peer) = report;
  peer.checksum_step.reset();
  if (peer.has_state) peer.checksum_step = peer.step;
  return is_new;
}

bool Roster::expect(const PeerId& id, Stage stage, const std::string& node_name) {
  const auto [it, is_new] = peers_.try_emplace(id);
  it->second.stage = stage;
  it->second.node_name = node_name;
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

bool Roster::is_spare(const PeerId& id) const {
  const PeerFacts& own = peers_.at(id);
  return std::any_of(peers_.begin(), peers_.end(), [&own](const auto& one) {
    const PeerFacts& other = one.second;
    return other.serving && other.reachable && other.stage == own.stage &&
           other.node_name != own.node_name;
  });
}

bool Roster::other_node_serves(Stage stage, const NodeId& node) const {
  const auto peers = serving(stage);
  return std::any_of(peers.begin(), peers.end(),
                     [&node](const PeerId& id) { return id.node != node; });
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

std::vector<Stage> Roster::unknown_stages() const {
  std::vector<Stage> unknown;
  for (Stage stage; stage.value() < num_stages_; ++stage)
    if (std::none_of(peers_.begin(), peers_.end(),
                     [&](const auto& one) { return one.second.stage == stage; }))
      unknown.push_back(stage);
  return unknown;
}

std::optional<Stage> Roster::silent_stage() const {
  std::set<Stage> heard;
  for (const auto& [id, peer] : peers_)
    if (peer.reported) heard.insert(peer.stage);
  for (Stage stage; stage.value() < num_stages_; ++stage)
    if (heard.count(stage) == 0) return stage;
  return std::nullopt;
}

std::vector<PeerId> Roster::newcomers(Step applied) const {
  std::vector<PeerId> found;
  for (const auto& [id, peer] : peers_)
    if (!peer.serving && !peer.set_aside && peer.ready(applied)) found.push_back(id);
  return found;
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

std::optional<Step> Roster::newest_everywhere() const {
  std::map<Step, std::set<Stage>> stages;  // by step
  std::vector<PeerSupply> stored;
  for (const auto& [id, peer] : peers_) {
    if (!peer.serving) continue;
    for (Step step : peer.snapshots) stages[step].insert(peer.stage);
    for (const StoredCopy& copy : peer.copies)
      if (copy.stage.value() < num_stages_) stages[copy.step].insert(copy.stage);
    stored.push_back({id, peer.stage, false, {}, peer.snapshots, peer.snapshot_histories});
    stored.back().copies = peer.copies;
  }
  for (auto it = stages.rbegin(); it != stages.rend(); ++it)
    if (it->second.size() == num_stages_ && common_history(stored, num_stages_, it->first))
      return it->first;
  return std::nullopt;
}

bool Roster::begins_to_fail(const PeerId& id) {
  PeerFacts& peer = peers_.at(id);
  const bool fails = peer.saves.failed >= kTolerableFailures;
  const bool begins = fails && !peer.told_failing;
  peer.told_failing = fails;
  return begins;
}

std::vector<PeerSupply> Roster::supplies() const {
  std::vector<PeerSupply> supplies;
  for (const auto& [id, peer] : peers_) {
    if (!peer.reported) continue;
    supplies.push_back(
        {id, peer.stage, peer.has_state, peer.step, peer.snapshots, peer.snapshot_histories});
    if (peer.has_state) supplies.back().histories[peer.step] = peer.history;
    supplies.back().copies = peer.copies;
  }
  return supplies;
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
