/// Which nodes with a vote are here, as a coordinator sees it, and what each has answered under the
/// present ballot. State of a Consent; pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/ids.h"
#include "routing/membership/configuration.h"
#include "routing/membership/lines.h"
#include "routing/membership/voter.h"
#include "routing/time.h"

namespace swarm::routing {

class Attendance {
 public:
  /// A voter that has not answered, or has failed to, is asked again after this.
  static constexpr Time kRetry = std::chrono::seconds(1);
  /// One that has failed to for so long, though its node is here, counts as away.
  static constexpr Time kPatience = std::chrono::seconds(5);
  /// When somebody leaves, others may be about to: where all do, as a run is stopped, the list stays.
  static constexpr Time kOthersMayLeave = std::chrono::milliseconds(300);

  struct Node {
    NodeId process;
    bool takes_part = false;  ///< It serves a stage or trains.
    std::string voter{};      ///< Which one it is; "": it has not answered under this ballot.
    bool leaves = false;      ///< It is about to end, and wants no vote any more.
    Term follows{};           ///< Of a higher ballot, which it has answered; 0: of none.
    Time not_before{};        ///< The next question.
    std::optional<Time> fails_since;
    ConfigurationNumber knows;               ///< That it holds, by its last answer.
    ConfigurationNumber stored;              ///< Proposed, and stored by it under this ballot.
    bool forsaken = false;                   ///< What its peers have is of a line that it gave up.
    Stand stand = Stand::kOurs;              ///< To the line that goes on.
    std::optional<VoterAnswer> elsewhere{};  ///< What it said last, if that is of another line.
    Time heard{};  ///< When it was asked what it answered last under this ballot.
    std::optional<Time> loses_since;  ///< It was seen to be of a line that is to be given up.
  };

  /// True: another process than before, or none was here.
  bool came(const std::string& node, const NodeId& process);
  void takes_part(const NodeId& process);
  void gone(const NodeId& process);
  /// In order: it goes on answering until it has no vote any more.
  void leaves(const NodeId& process, Time now);
  void clear() { nodes_.clear(); }
  /// What was answered was under another ballot.
  void forget_answers();

  void failed(Node& node, Time now) const;
  void answered(Node& node, const VoterAnswer& answer, bool taken, Time now) const;

  Node* find(const std::string& node, const NodeId& process);
  std::map<std::string, Node>& nodes() { return nodes_; }
  const std::map<std::string, Node>& nodes() const { return nodes_; }
  /// Those that answer, or may yet.
  std::set<std::string> here(Time now) const;
  /// How many of a list are here. Who has not said yet which voter it is may be the one on the list.
  /// `loyal`: only those that have answered no higher ballot.
  Count present(const Voters& list, Time now, bool loyal = false) const;
  /// Those here that had a vote or take part; of a swarm that begins, all of them. Not those that leave,
  /// unless nobody else stays, and none of other lines.
  Voters list(const Configuration& decided, Time now) const;
  /// Of other lines than `held`, the one that goes on.
  void meet(const Configuration& held, const Lines& lines);
  /// Since when those that are to give up their line are known, all of them; none: nobody is to.
  std::optional<Time> see_losers(Time now);
  /// Voters of the line that goes on that have answered since then.
  Voters heard_since(Time since) const;
  /// Processes whose peers have nothing of the line that goes on.
  std::set<NodeId> barred() const;
  /// What this process's peers have is of the last of so many lines that its node has given up; none: it gave up
  /// none, or has a vote again.
  std::optional<uint64_t> given_up(const NodeId& process) const;
  /// Its voter has not said under this ballot of which line it is.
  bool silent(const NodeId& process) const;
  /// Likewise, and has not failed to either.
  bool unheard(const NodeId& process) const;
  /// It is to give one up, and has not answered yet that it did.
  bool loses(const NodeId& process) const;
  /// Likewise this one, and it is to keep what it has; null: any.
  bool apart(const NodeId* process = nullptr) const;
  /// The term of the highest ballot that somebody here has answered, if it is above this one's.
  std::optional<Term> outranked() const;
  /// The highest term that more than half of those here, two at least, say that they have answered; 0: none
  /// above this one's.
  Term followed_by_most() const;
  /// Those that are to have no vote any more; none while more may say so.
  std::set<std::string> leaving(Time now) const;
  bool all_leave() const;

 private:
  static bool answers(const Node& node, Time now);

  std::map<std::string, Node> nodes_;  ///< By name.
  Time last_leaves_{};
};

}  // namespace swarm::routing
