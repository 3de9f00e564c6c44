/// The configuration: the numbered list of nodes whose answers make a commit count, and the state
/// that its number begins with (docs/one_history.md has the whole rule and why it holds).
///
/// Pure values. A number is used by one coordinator only, so (number, step) names one commit.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/steps/history.h"

namespace swarm::routing {

using ConfigurationNumber = StrongId<struct ConfigurationNumberTag, uint64_t>;

/// A voter takes no number that lies further above the one it knows. At a change each second that is 136 years,
/// so who was away, and who knows of none (0), still learns; and whoever says ever higher ones must have 2^32 of
/// them stored, one by one, before the numbers end.
constexpr uint64_t kNumberJump = uint64_t{1} << 32;
constexpr bool jumps(ConfigurationNumber number, ConfigurationNumber known) {
  return known < number && number - known > kNumberJump;
}

/// A coordinator's term with its node: two nodes may draw the same term (term.h), never the same ballot.
struct Ballot {
  Term term;
  NodeId node;

  friend bool operator==(const Ballot& a, const Ballot& b) {
    return a.term == b.term && a.node == b.node;
  }
  friend bool operator!=(const Ballot& a, const Ballot& b) { return !(a == b); }
  friend bool operator<(const Ballot& a, const Ballot& b) {
    return std::tie(a.term, a.node) < std::tie(b.term, b.node);
  }
};

/// Each is "NODE#DISK": the name of its node, which stays when a process starts anew, and what tells the
/// disk from any other. Who has lost its disk is another voter. ("NODE" alone: of a disk without an id.)
using Voters = std::set<std::string>;

/// "s1" of "s1#0f3a".
std::string node_of(const std::string& voter);
Voters nodes_of(const Voters& voters);
/// "s1#0f3a" of "s1#0f3a.2": the same disk, whatever it has given up.
std::string disk_of(const std::string& voter);
/// How many lines of history it had given up when it became this voter: "s1#0f3a.2" two.
uint64_t lines_given_up(const std::string& voter);
/// The voter of that node on the list; "" if there is none.
std::string voter_of(const Voters& list, const std::string& node);

/// A place in the history of the run.
struct Place {
  Step step;
  History history;

  friend bool operator==(const Place& a, const Place& b) {
    return a.step == b.step && a.history == b.history;
  }
  friend bool operator!=(const Place& a, const Place& b) { return !(a == b); }
};

/// A part went on without more than half of the list before it: from here on its line of history is
/// another one (lines.h).
struct Fork {
  ConfigurationNumber number;  ///< Of the first configuration behind it.
  Ballot ballot;               ///< That made it: no other fork has this one.
  Place base;

  friend bool operator==(const Fork& a, const Fork& b) {
    return a.number == b.number && a.ballot == b.ballot && a.base == b.base;
  }
};
/// Older ones are forgotten.
constexpr size_t kMostForks = 8;

struct Configuration {
  /// One more than that of the one before. 0: the list of the experiment file, which all nodes know
  /// without having stored it; empty where the file lists no nodes.
  ConfigurationNumber number;
  Voters voters;
  /// All that is committed in this number follows on this.
  Place base;
  /// More than `base` may have been committed in the number before: that is given up.
  bool gone_back = false;
  /// Oldest first; all that follow keep them.
  std::vector<Fork> forks{};

  /// Made without more than half of the list before it (docs/one_history.md).
  bool forced() const { return !forks.empty() && forks.back().number == number; }
  /// Of one line no two configurations with a number hold.
  Ballot line() const { return forks.empty() ? Ballot() : forks.back().ballot; }
  /// The same for people and the audit: "3 by 1f2e3d4c, term 7"; nothing: it never forked.
  std::optional<std::string> line_text() const;
  /// Likewise of the lines that it forked off, oldest first, the one that never forked left out.
  std::vector<std::string> lines_before() const;
  void fork(const Ballot& ballot);

  friend bool operator==(const Configuration& a, const Configuration& b) {
    return a.number == b.number && a.voters == b.voters && a.base == b.base &&
           a.gone_back == b.gone_back && a.forks == b.forks;
  }
  friend bool operator!=(const Configuration& a, const Configuration& b) { return !(a == b); }
};

/// The first fork that leads from the line of `earlier` to that of `later`; null: none does, or they are of
/// one line. Of one that has gone through more than kMostForks since, the first that is known.
const Fork* fork_between(const Configuration& earlier, const Configuration& later);
/// A voter that knows `has` loses nothing if it takes `holds`: that is newer and of its line, or of one that
/// forked off later.
bool may_take(const Configuration& holds, const Configuration& has);

/// How many of a list are there.
struct Count {
  size_t have = 0, of = 0;
  Voters missing;

  /// More than half: a tie waits.
  bool most() const { return 2 * have > of; }
  /// "have 3 of 8, missing a, b, c, d, e", by their nodes.
  std::string text() const;
};
Count count(const Voters& list, const Voters& there);

}  // namespace swarm::routing
