/// One voter of the configuration: what a node keeps on its disk, what in memory, and what it
/// answers (docs/one_history.md). Every node has one, for all its roles.
///
/// Pure: the caller stores record() durably before it sends the answer of promise(), store() or
/// learn(); those of vote() and apply() need no disk. Not thread-safe; one owner.
#pragma once

#include <optional>
#include <string>

#include "common/result.h"
#include "routing/membership/configuration.h"

namespace swarm::routing {

/// A configuration that a coordinator asked to store: nobody knows yet whether it holds.
struct Proposal {
  Ballot ballot;
  Configuration next;
};

/// On the disk.
struct VoterRecord {
  /// The highest ballot answered: nothing of a lower one is taken any more.
  Ballot promised;
  /// The newest configuration that is known to hold.
  Configuration decided;
  /// Of number decided.number + 1.
  std::optional<Proposal> proposal;
  /// Tells this disk from any other: made once, when nothing was on it. No '#'.
  std::string disk{};
  /// Lines that it gave up: it is another voter since each.
  uint64_t given_up = 0;
  /// What the node's peers have is of a line that was given up; until it is on a list again.
  bool forsaken = false;

  /// `holds` does. False: nothing new, or of a line that this voter does not go over to by itself.
  bool learn(const Configuration& holds);
};

/// In memory: where the voter is in the history, as the coordinator of `number` told it.
struct Mark {
  ConfigurationNumber number;
  Place place;
  bool voted = false;  ///< For the commit that leads on from `place`: it may count already.
};

struct VoterAnswer {
  std::string voter;
  VoterRecord record;
  /// False: its process began after it may have voted, and no coordinator has told it since where
  /// the swarm is.
  bool remembers = false;
  std::optional<Mark> mark;
};

class Voter {
 public:
  /// `node`: its name. `stored`: what its disk has; nothing on a new one. `file`: the nodes that the experiment file
  /// lists, which are configuration 0; may be empty.
  Voter(std::string node, std::optional<VoterRecord> stored, const Voters& file);

  const VoterRecord& record() const { return record_; }
  VoterAnswer answer() const;

  /// A coordinator gathers. Errors: kStaleTerm (a higher ballot was answered).
  Status promise(const Ballot& ballot);
  /// It asks to store `next`, the one after `decided`. One that is forced is only promised: of its line
  /// nothing is to be known before it is said to hold. Errors: kStaleTerm (a higher ballot was answered, a
  /// later configuration holds, or it is of another line), kInvalidArgument (not the next number, or
  /// of no line that follows), kRefused (a number that jumps).
  Status store(const Ballot& ballot, const Configuration& decided, const Configuration& next);
  /// `decided` holds. Older news is ignored, and that of lines to which a voter does not go over by itself.
  /// True: the record has changed.
  bool learn(const Configuration& decided);
  /// A coordinator says so. Errors: kStaleTerm (a higher ballot was answered), kRefused (a number that jumps).
  Status learn(const Ballot& ballot, const Configuration& decided);
  /// The line of `voter`, which this is, has lost against that of `decided`: from now on it is another voter
  /// that has promised nothing, and none of its line. Errors: kStaleTerm (it is another one already),
  /// kRefused (a number that jumps).
  Status give_up(const std::string& voter, const Configuration& decided);

  /// It asks for the commit that leads on from `step`. Errors: kStaleTerm (another ballot was
  /// answered since, or a change is under way), kStaleStep (the voter is not there), kNotReady (it
  /// has not been told of `number` yet).
  Status vote(const Ballot& ballot, ConfigurationNumber number, Step step);
  /// The swarm is at `place`: the commit that leads there counts, or the swarm opens there. Errors:
  /// those of vote().
  Status apply(const Ballot& ballot, ConfigurationNumber number, const Place& place);

 private:
  Status follows(const Ballot& ballot, ConfigurationNumber number) const;

  std::string node_;
  VoterRecord record_;
  bool remembers_ = false;
  std::optional<Mark> mark_;
};

}  // namespace swarm::routing
