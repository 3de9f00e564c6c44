#include "routing/membership/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace swarm::routing {
namespace {

/// Of the count of lines; npos: none. A node's name may have dots.
size_t dot_in(const std::string& voter) {
  const size_t disk = voter.find('#');
  return disk == std::string::npos ? disk : voter.find('.', disk);
}

std::string text_of(const Fork& fork) {
  return fmt::format("{} by {}, term {}", fork.number, fork.ballot.node.brief(), fork.ballot.term);
}

}  // namespace

std::string node_of(const std::string& voter) { return voter.substr(0, voter.find('#')); }

Voters nodes_of(const Voters& voters) {
  Voters nodes;
  for (const std::string& voter : voters) nodes.insert(node_of(voter));
  return nodes;
}

std::string disk_of(const std::string& voter) { return voter.substr(0, dot_in(voter)); }

uint64_t lines_given_up(const std::string& voter) {
  const size_t dot = dot_in(voter);
  uint64_t number = 0;
  for (size_t i = dot + 1; dot != std::string::npos && i < voter.size(); ++i) {
    if (voter[i] < '0' || voter[i] > '9') return 0;
    number = 10 * number + static_cast<uint64_t>(voter[i] - '0');
  }
  return number;
}

/// '#' comes before all that a name may have, so nothing lies between "s1" and "s1#0f3a".
std::string voter_of(const Voters& list, const std::string& node) {
  const auto found = list.lower_bound(node);
  return found != list.end() && node_of(*found) == node ? *found : "";
}

void Configuration::fork(const Ballot& ballot) {
  // The first says from where on it is another line than one that never forked.
  if (forks.size() == kMostForks) forks.erase(forks.begin() + 1);
  forks.push_back({number, ballot, base});
  gone_back = true;
}

std::optional<std::string> Configuration::line_text() const {
  return forks.empty() ? std::nullopt : std::make_optional(text_of(forks.back()));
}

std::vector<std::string> Configuration::lines_before() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i + 1 < forks.size(); ++i) lines.push_back(text_of(forks[i]));
  return lines;
}

const Fork* fork_between(const Configuration& earlier, const Configuration& later) {
  auto next = later.forks.begin();
  if (!earlier.forks.empty()) {
    next = std::find(later.forks.begin(), later.forks.end(), earlier.forks.back());
    if (next != later.forks.end()) ++next;
  }
  return next == later.forks.end() ? nullptr : &*next;
}

bool may_take(const Configuration& holds, const Configuration& has) {
  if (holds.line() == has.line()) return has.number < holds.number;
  const Fork* fork = fork_between(has, holds);
  return fork != nullptr && has.number < fork->number;
}

std::string Count::text() const {
  std::string text = fmt::format("have {} of {}", have, of);
  if (!missing.empty()) text += fmt::format(", missing {}", fmt::join(nodes_of(missing), ", "));
  return text;
}

Count count(const Voters& list, const Voters& there) {
  Count result;
  result.of = list.size();
  for (const std::string& voter : list) {
    if (there.count(voter) != 0)
      ++result.have;
    else
      result.missing.insert(voter);
  }
  return result;
}

}  // namespace swarm::routing
