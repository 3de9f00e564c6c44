#include "routing/membership/leavers.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "routing/membership/departure.h"

namespace swarm::routing {
namespace {

/// A swarm that gathers goes on soon, or somebody is missing who may not come; and trainers say within it that
/// they are there.
constexpr Time kLongestGathering = std::chrono::seconds(5);

/// A stage of which all leave; while the swarm gathers nobody serves, and some have not come yet.
std::optional<Stage> left_alone(const Frame& frame) {
  const size_t stages = frame.roster.num_stages();
  std::vector<bool> stays(stages, false), empty(stages, !frame.is_open());
  for (const auto& [id, peer] : frame.roster.peers()) {
    empty[peer.stage.value()] = false;
    if (!peer.leaves && (peer.serving || !frame.is_open())) stays[peer.stage.value()] = true;
  }
  for (size_t stage = 0; stage < stages; ++stage)
    if (!stays[stage] && !empty[stage]) return Stage(static_cast<uint32_t>(stage));
  return std::nullopt;
}

/// Nothing is missing of the open step: it ends without trainers and without new work of peers.
bool is_full(const Frame& frame) {
  const auto& ledger = frame.open.ledger;
  return frame.is_open() && ledger && ledger->slots_done() >= frame.options.slots;
}

/// Of steps that have begun in earnest: the first slots of one wait for the pipeline to fill.
Time remaining(const Frame& frame, Time now) {
  const auto& ledger = frame.open.ledger;
  const uint32_t done = ledger ? ledger->slots_done() : 0, slots = frame.options.slots;
  if (4 * done < slots || done >= slots) return {};
  return (now - frame.open.opened_at) * (slots - done) / done;
}

/// The end would be undone without it: others have still to save theirs.
bool keeps_the_end(const Frame& frame, const PeerId& id, const PeerFacts& peer) {
  if (frame.over || !peer.serving) return false;
  bool others = false;  // that stay
  for (const auto& [other, facts] : frame.roster.peers()) {
    if (other == id || facts.leaves || !facts.serving) continue;
    if (facts.stage == peer.stage) return false;
    others = true;
  }
  return others;
}

/// Where what it waits for cannot come.
std::optional<std::string> in_vain(const Frame& frame, const PeerFacts& peer, Time now) {
  if (peer.commit_pending || is_full(frame)) return std::nullopt;
  if (const auto alone = left_alone(frame)) return fmt::format("nobody stays in stage {}", *alone);
  const bool nobody_trains = frame.is_open() && frame.roster.num_trainers() == 0 &&
                             now - frame.open.opened_at >= kLongestGathering;
  if (nobody_trains) return "nobody trains";
  return std::nullopt;
}

}  // namespace

EndAnswer may_end(const Schedule& schedule, const PeerId& id, const PeerFacts& peer,
                  const Leaver& leaver, Time now) {
  const Frame& frame = schedule.frame();
  switch (departure(schedule, id, peer, leaver.asked_in)) {
    case Departure::kOver:
      if (keeps_the_end(frame, id, peer))
        return {false, "the last of its stage stays until the end is durable", {}};
      return {true, "training is over", {}};
    case Departure::kServesNot:
      return {true, "it does not serve", {}};
    case Departure::kMay:
      if (leaver.idle) return {true, "all it had a part in is done", {}, true};
      break;
    case Departure::kGathers:
      if (leaver.gathers_for >= kLongestGathering) return {true, "the swarm gathers", {}};
      break;
    case Departure::kHasPart:
      break;
  }
  if (auto why = in_vain(frame, peer, now)) return {true, std::move(*why), {}};
  if (!frame.is_open()) return {false, "the swarm gathers", {}};
  return {false, "it has a part in what is under way", remaining(frame, now)};
}

EndAnswer Leavers::ask(const PeerId& id, bool idle, const Schedule& schedule, Time now) {
  PeerFacts* peer = roster_.find(id);
  if (peer == nullptr) {
    const Time since = unknown_.try_emplace(id.node, now).first->second;
    const bool go = left_.count(id) != 0 || now - since >= kLongestGathering;
    return {go, go ? "it is no peer of its stage" : "it has not registered", {}};
  }
  unknown_.erase(id.node);
  peer->leaves = true;
  Asked& asked = asked_[id];
  const Frame& frame = schedule.frame();
  if (frame.phase != Frame::Phase::kClosed)
    asked.gathers_since.reset();
  else if (!asked.gathers_since)
    asked.gathers_since = now;
  if (idle && peer->serving && !asked.in) asked.in = leaves_after(frame, peer->stage);
  const Time gathers_for = now - asked.gathers_since.value_or(now);
  const EndAnswer answer = may_end(schedule, id, *peer, {idle, gathers_for, asked.in}, now);
  peer->departs = !answer.go;
  if (answer.go) goes(id);
  return answer;
}

void Leavers::goes(const PeerId& id) {
  if (roster_.find(id) == nullptr) return;
  asked_.erase(id);
  left_.insert(id);
}

void Leavers::lost(const NodeId& node) {
  const auto of_node = [&node](const auto& id) { return id.node == node; };
  for (auto it = asked_.begin(); it != asked_.end();)
    it = of_node(it->first) ? asked_.erase(it) : std::next(it);
  for (auto it = left_.begin(); it != left_.end();)
    it = of_node(*it) ? left_.erase(it) : std::next(it);
  unknown_.erase(node);
}

void Leavers::clear() {
  asked_.clear();
  left_.clear();
  unknown_.clear();
}

}  // namespace swarm::routing
