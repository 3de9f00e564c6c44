/// A coordinator's side while it leads: whose votes the open commit has, and a change of
/// configuration under way (docs/one_history.md). It begins with the first configuration that this
/// coordinator asked for and that holds.
///
/// Pure. One owner: the Coordinator. One change at a time, and never beside a commit.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/ids.h"
#include "routing/membership/change.h"
#include "routing/membership/configuration.h"

namespace swarm::routing {

class Assembly {
 public:
  /// The swarm goes on from the base of `decided`.
  explicit Assembly(const Configuration& decided) : decided_(decided), place_(decided.base) {}

  const Configuration& configuration() const { return decided_; }
  const std::optional<Change>& change() const { return change_; }
  const Place& place() const { return place_; }

  /// A process of the voter has come: what one before it voted is forgotten there, so it counts no
  /// more. To be called before the process is told where the swarm is.
  void came(const std::string& voter, const NodeId& process);
  /// That process has voted in `number` for the commit that leads on from `step`. Ignored: of another
  /// number, step or process, and while a change is under way.
  void voted(const std::string& voter, const NodeId& process, ConfigurationNumber number,
             Step step);
  Count votes() const { return count(decided_.voters, votes_); }
  bool has_vote(const std::string& voter) const { return votes_.count(voter) != 0; }
  bool may_commit() const { return !change_ && votes().most(); }
  /// The commit is decided. Requires may_commit().
  void commit(History after);

  /// Asks for `voters` from now on, from the last commit. Votes for the open commit do not count any
  /// more: it is asked for again in the new number. Requires no change under way.
  void begin_change(const Voters& voters);
  /// A voter has stored the change. True: now it holds, and configuration() is the new one.
  bool stored(const std::string& voter, ConfigurationNumber number);

 private:
  Configuration decided_;
  Place place_;
  std::optional<Change> change_;
  std::map<std::string, NodeId> processes_;
  Voters votes_;
};

}  // namespace swarm::routing
