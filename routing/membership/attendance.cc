#include "routing/membership/attendance.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace swarm::routing {

bool Attendance::came(const std::string& node, const NodeId& process) {
  const auto [known, is_new] = nodes_.try_emplace(node);
  if (!is_new && known->second.process == process) return false;
  known->second = Node();
  known->second.process = process;
  return true;
}

void Attendance::takes_part(const NodeId& process) {
  for (auto& [name, node] : nodes_)
    if (node.process == process) node.takes_part = true;
}

void Attendance::gone(const NodeId& process) {
  for (auto it = nodes_.begin(); it != nodes_.end();)
    it = it->second.process == process ? nodes_.erase(it) : std::next(it);
}

void Attendance::leaves(const NodeId& process, Time now) {
  for (auto& [name, node] : nodes_)
    if (node.process == process && !std::exchange(node.leaves, true)) last_leaves_ = now;
}

void Attendance::forget_answers() {
  for (auto& [name, node] : nodes_) {
    Node known;
    known.process = node.process;
    known.leaves = node.leaves;
    node = known;
  }
}

void Attendance::failed(Node& node, Time now) const {
  node.not_before = now + kRetry;
  if (!node.fails_since) node.fails_since = now;
}

void Attendance::answered(Node& node, const VoterAnswer& answer, bool taken, Time now) const {
  // Who refuses and has said nothing new would refuse again.
  const bool news = taken || !node.seen || node.knows != answer.record.decided.number;
  node.not_before = news ? Time() : now + kRetry;
  node.fails_since.reset();
  node.knows = answer.record.decided.number;
  if (!node.seen) node.blank = !answer.recorded();
  node.seen = true;
}

void Attendance::stored(const Voters& voters) {
  for (auto& [name, node] : nodes_)
    if (voters.count(name) != 0) node.blank = false;
}

Attendance::Node* Attendance::find(const std::string& node, const NodeId& process) {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.process == process ? &found->second : nullptr;
}

Voters Attendance::here(Time now) const {
  Voters all;
  for (const auto& [name, node] : nodes_)
    if (!node.fails_since || now - *node.fails_since < kPatience) all.insert(name);
  return all;
}

Voters Attendance::loyal(Time now) const {
  Voters all = here(now);
  for (const auto& [name, node] : nodes_)
    if (node.follows != Term()) all.erase(name);
  return all;
}

std::optional<Term> Attendance::outranked() const {
  Term highest;
  for (const auto& [name, node] : nodes_) highest = std::max(highest, node.follows);
  return highest == Term() ? std::nullopt : std::make_optional(highest);
}

Voters Attendance::blank() const {
  Voters all;
  for (const auto& [name, node] : nodes_)
    if (node.blank) all.insert(name);
  return all;
}

Voters Attendance::leaving(Time now) const {
  Voters all;
  if (now - last_leaves_ < kOthersMayLeave) return all;
  for (const auto& [name, node] : nodes_)
    if (node.leaves) all.insert(name);
  return all;
}

bool Attendance::all_leave() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& one) { return one.second.leaves; });
}

}  // namespace swarm::routing
