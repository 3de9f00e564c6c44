#include "routing/membership/attendance.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

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
  const bool news = taken || node.voter.empty() || node.knows != answer.record.decided.number;
  node.not_before = news ? Time() : now + kRetry;
  node.fails_since.reset();
  node.knows = answer.record.decided.number;
  node.voter = answer.voter;
  if (answer.record.forsaken && !node.forsaken)
    node.takes_part = false;  // not with what it gave up
  node.forsaken = answer.record.forsaken;
}

Attendance::Node* Attendance::find(const std::string& node, const NodeId& process) {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.process == process ? &found->second : nullptr;
}

bool Attendance::answers(const Node& node, Time now) {
  return !node.fails_since || now - *node.fails_since < kPatience;
}

std::set<std::string> Attendance::here(Time now) const {
  std::set<std::string> all;
  for (const auto& [name, node] : nodes_)
    if (answers(node, now)) all.insert(name);
  return all;
}

Count Attendance::present(const Voters& list, Time now, bool loyal) const {
  Voters there;
  for (const auto& [name, node] : nodes_)
    if (answers(node, now) && (!loyal || node.follows == Term()))
      there.insert(node.voter.empty() ? voter_of(list, name) : node.voter);
  return count(list, there);
}

Voters Attendance::list(const Configuration& decided, Time now) const {
  Voters voters, stay;
  const std::set<std::string> leaves = leaving(now);
  for (const auto& [name, node] : nodes_) {
    if (!answers(node, now) || node.stand != Stand::kOurs) continue;
    const std::string before = voter_of(decided.voters, name);
    const std::string voter = node.voter.empty() ? before : node.voter;
    const bool wants = node.takes_part && !node.leaves;
    const bool had_vote = !before.empty() && !node.forsaken;
    if (voter.empty() || (decided.number.value() > 0 && !had_vote && !wants)) continue;
    voters.insert(voter);
    if (leaves.count(name) == 0) stay.insert(voter);
  }
  // Fewer than half would stay: the run is stopped. Who is late, or hangs, must not be the whole list.
  return 2 * stay.size() < voters.size() ? voters : stay;
}

void Attendance::meet(const Configuration& held, const Lines& lines) {
  for (auto& [name, node] : nodes_)
    if (node.elsewhere) node.stand = routing::stand(node.elsewhere->record.decided, held, lines);
}

std::optional<Time> Attendance::see_losers(Time now) {
  std::optional<Time> last;
  for (auto& [name, node] : nodes_) {
    if (node.stand != Stand::kLoses)
      node.loses_since.reset();
    else if (!node.loses_since)
      node.loses_since = now;
    last = std::max(last, node.loses_since);
  }
  return last;
}

Voters Attendance::heard_since(Time since) const {
  Voters heard;
  for (const auto& [name, node] : nodes_)
    if (node.stand == Stand::kOurs && !node.elsewhere && node.follows == Term() &&
        since <= node.heard)
      heard.insert(node.voter);
  return heard;
}

std::set<NodeId> Attendance::barred() const {
  std::set<NodeId> processes;
  for (const auto& [name, node] : nodes_)
    if (node.forsaken || node.stand != Stand::kOurs) processes.insert(node.process);
  return processes;
}

std::optional<uint64_t> Attendance::given_up(const NodeId& process) const {
  for (const auto& [name, node] : nodes_)
    if (node.process == process && node.forsaken) return lines_given_up(node.voter);
  return std::nullopt;
}

bool Attendance::silent(const NodeId& process) const {
  return std::none_of(nodes_.begin(), nodes_.end(), [&process](const auto& one) {
    return one.second.process == process && !one.second.voter.empty();
  });
}

bool Attendance::unheard(const NodeId& process) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&process](const auto& one) {
    const Node& node = one.second;
    return node.process == process && node.voter.empty() && !node.fails_since;
  });
}

bool Attendance::loses(const NodeId& process) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&process](const auto& one) {
    return one.second.process == process && one.second.stand == Stand::kLoses;
  });
}

bool Attendance::apart(const NodeId* process) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [process](const auto& one) {
    const Node& node = one.second;
    return node.stand == Stand::kApart && (process == nullptr || node.process == *process);
  });
}

std::optional<Term> Attendance::outranked() const {
  Term highest;
  for (const auto& [name, node] : nodes_) highest = std::max(highest, node.follows);
  return highest == Term() ? std::nullopt : std::make_optional(highest);
}

Term Attendance::followed_by_most() const {
  if (nodes_.size() < 2) return Term();
  std::vector<Term> said;
  for (const auto& [name, node] : nodes_) said.push_back(node.follows);
  std::sort(said.begin(), said.end());
  return said[(said.size() - 1) / 2];  // as high as this are more than half
}

std::set<std::string> Attendance::leaving(Time now) const {
  std::set<std::string> all;
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
