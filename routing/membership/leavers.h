/// Peers whose nodes end (docs/elastic.md, "Leaving with grace"): when each may go. Nobody keeps them, but
/// while they stay, nothing of theirs is computed again.
///
/// Pure; `now` never falls. One owner: the Coordinator. Marks peers of the roster (leaves, departs).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/ids.h"
#include "routing/membership/roster.h"
#include "routing/steps/schedule.h"

namespace swarm::routing {

/// What a peer whose node ends is told.
struct EndAnswer {
  bool go = false;  ///< It is to be taken out of its stage in this moment.
  std::string reason;
  Time remaining{};  ///< Until the open step is full, at its rate so far; 0: not known, or it is.
  bool finished = false;  ///< It goes because nothing that it had a part in is left.
};
/// Of such a peer.
struct Leaver {
  bool idle = false;                ///< Everything it had in hand is finished.
  Time gathers_for{};               ///< So long the swarm has gathered while it asked.
  std::optional<Round> asked_in{};  ///< As departure(), of when it was idle first.
};

/// As departure(); but where what it waits for cannot come, it goes at once. What it holds then is computed
/// again.
EndAnswer may_end(const Schedule& schedule, const PeerId& id, const PeerFacts& peer,
                  const Leaver& leaver, Time now);

class Leavers {
 public:
  /// `roster` outlives this.
  explicit Leavers(Roster& roster) : roster_(roster) {}

  /// `id` asks whether it may go; its place in the roster says from now on that it leaves. `idle`: everything
  /// it had in hand is finished. One that has not registered in this term is given time to.
  EndAnswer ask(const PeerId& id, bool idle, const Schedule& schedule, Time now);
  /// It goes, whatever it was told.
  void goes(const PeerId& id);
  void lost(const NodeId& node);
  void clear();

 private:
  struct Asked {
    std::optional<Time> gathers_since;
    std::optional<Round> in;  ///< As Leaver.
  };

  Roster& roster_;
  std::map<PeerId, Asked> asked_;
  std::set<PeerId> left_;           ///< In this term.
  std::map<NodeId, Time> unknown_;  ///< Since when they ask.
};

}  // namespace swarm::routing
