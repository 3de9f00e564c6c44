/// Which peers of a stage cannot reach each other, as their rounds tell, and what the next round does
/// about it (design Sec. 6; docs/averaging.md): a third member that reaches both passes their parts
/// on; where there is none, the smaller side is set aside for a while.
///
///   unknown --unreached--> suspect --still so kCertain later--> parted --retry--> tried again
///      ^                      |                                                      |   |
///      '------- a round done with both, no relay -----------------------------------'   '-> parted,
///                                                                             for twice as long
///
/// Pure: time is an argument. One owner: a Schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "routing/time.h"

namespace swarm::routing {

/// Members `a` and `b` of a round (their places in its list) reach each other through `via`.
struct Relay {
  uint32_t a = 0, b = 0, via = 0;
  friend bool operator==(const Relay& x, const Relay& y) {
    return x.a == y.a && x.b == y.b && x.via == y.via;
  }
};

class Reach {
 public:
  /// A link that was lost is up again, or its end is known to be dead, within this.
  static constexpr Time kCertain = std::chrono::seconds(4);
  /// A pair is tried again after the first, then after twice as long each time, up to the last; and,
  /// as rounds may be further apart than that, after none, then 1, 3, 7, up to the last many done without.
  static constexpr Time kRetry = std::chrono::seconds(60);
  static constexpr Time kLongestRetry = std::chrono::minutes(10);
  static constexpr int kMostRounds = 15;
  /// In a round of more than kMostDirect members most pairs have nothing to say to each other, others in every
  /// round: a pair is forgotten after so many such rounds. Until then its next failure parts it.
  static constexpr int kRoundsToMeet = 16;

  /// `a` says that it could not reach `b`, both alive. Order does not matter.
  void unreached(const PeerId& a, const PeerId& b, Time now);
  /// A round of these was done; what was not relayed went directly. Only that makes forget a suspicion:
  /// rounds may be far apart.
  void reached(const std::vector<PeerId>& members, const std::vector<Relay>& relays);

  /// No round is to rely on this pair now.
  bool parted(const PeerId& a, const PeerId& b, Time now) const;
  /// Two of these have been parted and are to be tried again.
  bool retry_due(const std::vector<PeerId>& members, Time now) const;
  /// Forgets the pairs of which one is not among these: peers have new names at every start.
  void keep(const std::function<bool(const PeerId&)>& is_here);

  /// What a member brings; of two sides as large the one that brings less is set aside.
  struct Member {
    PeerId peer;
    size_t slots = 0;
  };
  struct Aside {
    PeerId peer, from;  ///< `from`: one that stays and that it cannot reach.
    Time retry_in{};
  };
  struct Plan {
    std::vector<Relay> relays;  ///< Of the members that stay; empty if some are set aside.
    std::vector<Aside> aside;
  };
  /// `retry`: pairs that are due are tried. Else they count as parted: the round must not fail for that.
  Plan plan(const std::vector<Member>& members, Time now, bool retry = true) const;

 private:
  using Pair = std::pair<PeerId, PeerId>;
  struct Record {
    Time first{}, retry_at{};
    int times = 0;   ///< Found parted.
    int rounds = 0;  ///< Done without the pair, since it was last found parted.
    int met = 0;     ///< Done with both and without a relay, since they last failed.
    bool rests(Time now) const;
  };
  static Pair pair_of(const PeerId& a, const PeerId& b);

  std::map<Pair, Record> pairs_;
};

}  // namespace swarm::routing
