/// Whose agreement a coordinator needs, and what it asks of whom to get it: the states of a
/// coordinator of docs/one_history.md, from its ballot to the votes for each commit.
///
///     kOff -begin()-> kAsks -judge(), finish()-> (ready) -open()-> kStores -> kReigns
///                       ^                                             |          | open() elsewhere
///                       '---- begin(), of a higher ballot ------------'----------'
///
/// Pure: time is an argument. One owner: the Coordinator, which sends what due() says, and tells each
/// answer. Rules and proof: voter.h, quorum.h, assembly.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "routing/membership/assembly.h"
#include "routing/membership/attendance.h"
#include "routing/membership/change.h"
#include "routing/membership/configuration.h"
#include "routing/membership/quorum.h"
#include "routing/membership/voter.h"
#include "routing/time.h"

namespace swarm::routing {

/// What a voter is asked: one thing at a time.
struct VoterAsk {
  enum class What { kPromise, kStore, kLearn, kVote, kGiveUp };
  What what = What::kPromise;
  std::string node;
  std::string voter{};  ///< Of kGiveUp: who is to give up its line, for that of `decided`.
  NodeId process;
  Ballot ballot;
  Configuration decided;  ///< Of kStore, kLearn, kGiveUp.
  Configuration next;     ///< Of kStore.
  ConfigurationNumber
      number;  ///< Of kVote, with `place`: where it is, and what follows is voted for.
  Place place;
  Time asked{};
};

/// What it says: its state after it has taken what it was asked, or has refused to.
struct VoterReply {
  bool taken = false;
  VoterAnswer voter;
};

class Consent {
 public:
  /// Fewer than needed are here for so long: people hear of it; a change that cannot hold any more is
  /// given up for another ballot; and who has been away for so long while one step goes on leaves the list.
  static constexpr Time kPatience = Attendance::kPatience;

  // -- who is here
  /// A process of this node has registered a peer or asked for leases.
  void came(const std::string& node, const NodeId& process);
  /// Who takes part gets a vote with the next change; who is gone loses it.
  Attendance& attendance() { return attendance_; }

  // -- gathering
  /// This coordinator gathers under a ballot of its own that it has not used before.
  void begin(const Ballot& ballot);
  /// It leads no more.
  void stop();
  /// What is waited for before a plan may be made; empty: it may.
  std::string waits_for() const;
  /// The swarm is to go on from `base`. True: a configuration that begins there holds, commits may
  /// follow. Ask again after the next answer.
  bool open(const Place& base, Time now);
  /// Somebody has decided that this part goes on without the others, and that those whose line would stay
  /// if more of them were here give it up: the next ballot is for that. False: nobody waits.
  bool force(Time now);
  struct Bounds {
    /// No state of a later step is of this history; none: nobody knows.
    std::optional<Step> newest;
    /// The first configuration behind the first fork of its line, or of the one that this is about to make; 0: it
    /// never forked.
    ConfigurationNumber forked_in;
  };
  Bounds bounds() const;

  // -- leading
  /// The open step is about to be done: its votes are asked for.
  void want_votes(Step step);
  bool may_commit(Step step) const;
  /// The commit is decided. Requires may_commit(). Whoever has come or gone since the last one is
  /// asked for in a change.
  void commit(History after, Time now);

  // -- mail
  std::vector<VoterAsk> due(Time now);
  /// True: something may have become possible.
  bool answered(const VoterAsk& ask, const Result<VoterReply>& reply, Time now);

  // -- questions
  /// A voter follows a higher ballot: this one can do nothing more, unless it reigns and the others are
  /// enough.
  std::optional<Term> outranked() const;
  /// More than half of the newest list that anybody here knows are here: a higher ballot may lead on. Else
  /// another coordinator has them, perhaps.
  bool may_outrank() const;
  /// Only another ballot leads on.
  enum class Snag {
    kNone,
    kMeeting,  ///< Others have come whose line stays, while this one reigns.
    kStuck,  ///< What was asked for cannot hold any more, but something else might; or such others came before.
  };
  Snag snag(Time now) const;
  /// Too few are here, and have been for `patience`.
  std::optional<Count> minority(Time now, Time patience = kPatience) const;
  bool reigns() const { return assembly_.has_value(); }
  /// The configuration that holds; of a coordinator that does not reign yet, the newest that it knows.
  const Configuration& configuration() const;
  /// The one that configuration() follows on, where that was made by this coordinator.
  const Configuration& before() const { return before_; }
  /// For people: where it stands.
  std::string describe() const;
  /// Voters of configuration() that are not here.
  Voters missing() const { return attendance_.present(configuration().voters, now_, true).missing; }

 private:
  enum class State { kOff, kAsks, kStores, kReigns };

  std::optional<VoterAsk> next_ask(const std::string& node, const Attendance::Node& voter) const;
  std::optional<VoterAsk> ask_of_reign(VoterAsk asks, const Attendance::Node& voter) const;
  bool stored(const std::string& voter, const Configuration& next);
  void judge_answers();
  void meet();
  const Change* change() const;
  void change_list();
  /// Fewer of the lists than needed are here and follow.
  std::optional<Count> lacks() const;

  State state_ = State::kOff;
  Ballot ballot_;
  Attendance attendance_;
  std::map<std::string, VoterAnswer> answers_;  ///< Promises under `ballot_`, by node.
  Ruling ruling_;
  std::optional<Change> change_;  ///< To be finished (kAsks), or that this one wants (kStores).
  /// What was asked for in lines that another one took the place of since.
  std::map<Ballot, Configuration> left_;
  std::optional<Assembly> assembly_;
  Configuration before_;  ///< The one that the assembly's follows on.
  bool votes_wanted_ = false, anew_ = false, forced_ = false;
  Time now_{};           ///< Of the latest call that told it.
  Configuration known_;  ///< The newest that somebody here says holds.
  std::optional<Time> changes_since_, lacks_since_, away_since_;
  std::optional<Time>
      losers_since_;  ///< Somebody here is to give up its line; all of them known since then.
};

}  // namespace swarm::routing
