/// Which peer of one stage gets the next microbatch of one sender, from what the sender has seen of
/// them (design Sec. 4; docs/wiring.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "routing/wiring/answer_pace.h"
#include "routing/wiring/interleaved_round_robin.h"
#include "routing/wiring/occupancy.h"
#include "routing/wiring/peer_estimates.h"
#include "routing/wiring/step_shares.h"
#include "routing/wiring/tries.h"

namespace swarm::routing {

/// Shares in proportion to 1 / cost by interleaved round-robin; deadlines from round trips. kRandom and
/// kFixed know no cost: they are what the others are compared with.
///
/// With WiringCost::kOccupancy unfinished work bounds what a peer is given: where it would be done
/// only after `patience` usual responses of the peer that answers soonest, and later than after
/// twice the time that the least busy peer needs, others go first. What is merely on its way, to a peer far away, is no
/// unfinished work. A peer that is too slow for a single microbatch gets none, but for one now and
/// then to see whether it still is. Where steps wait and their size is known, the number of the slot comes
/// first (StepShares).
///
/// Pure: time [s] is an argument. Not thread-safe; one owner.
class PeerChoice {
 public:
  /// In responses. Where a step ends with its last microbatch, nothing may be left behind that
  /// lasts longer than what is under way anyway; elsewhere a slow peer only holds a place.
  static constexpr double kPatienceOfSteps = 0.5;
  static constexpr double kPatience = 2;
  /// A peer passed over is tried again after so long, after kTryAgain times its own cost and, while
  /// it is silent, after kWaitAgain times as long as it may be waited for: a step waits with it, else
  /// only a place does.
  static constexpr double kTryAgain_s = 30;
  static constexpr double kTryAgain = 50;
  static constexpr double kWaitAgain = 2, kWaitAgainOfSteps = 10;
  /// Who has refused as not ready for longer than this [s] does not come before others: what left the
  /// swarm and does not know it is behind for good. Asked again after as long as that has lasted,
  /// kAskAgain_s at most, and when another has ended as long a spell: the swarm goes on.
  static constexpr double kNotReady_s = 1, kAskAgain_s = 10;

  PeerChoice(const PeerEstimatesOptions& estimates, WiringCost cost, uint64_t seed,
             double patience = kPatience);

  /// From now on; see kPatience.
  void be_patient(double responses) { patience_ = responses; }
  /// A step has so many slots: they are dealt out while steps wait (StepShares). 0: not known.
  void deal_steps(uint32_t slots, uint32_t stage) {
    step_slots_ = slots;
    stage_ = stage;
  }

  /// May be picked from now on.
  void add(const PeerId& peer);
  void forget(const PeerId& peer);
  bool contains(const PeerId& peer) const { return router_.contains(peer); }
  size_t size() const { return router_.size(); }

  /// Not picked until announced with a version above `announcement`.
  void ban(const PeerId& peer, uint64_t announcement);
  /// Returns whether the peer is (again) usable; add() is the caller's.
  bool announced(const PeerId& peer, uint64_t announcement);
  bool banned(const PeerId& peer) const { return round_trips_.banned(peer); }

  /// Somebody that `tries` has not asked; its request is under way until ended(). Nothing: all were
  /// asked.
  std::optional<PeerId> pick(Tries& tries, int64_t samples, double now_s);
  /// The request is over, however: every pick ends once.
  void ended(const PeerId& peer, int64_t samples);

  /// `away_s`: what of the wait was neither work nor queue of anybody, so the way there and back.
  /// Nothing: the peer had the answer already, so the wait says nothing of it.
  void answered(const PeerId& peer, int64_t samples, double waited_s, const Occupancy& occupancy,
                std::optional<double> away_s = 0.0);
  void timed_out(const PeerId& peer, int64_t samples, double waited_s);
  /// It refused: it cannot take what is of this step.
  void not_ready(const PeerId& peer, double now_s);
  /// An answer came that the peer did not have already: the pace of its answers.
  void came(const PeerId& peer, int64_t samples, double waited_s, double now_s);
  /// So many samples at the pace at which the peer's answers come [s]; nobody has heard of it: at the
  /// slowest of the others. Nothing: none has answered.
  std::optional<double> paced_s(const PeerId& peer, int64_t samples) const;

  /// Its own answers have shown the peer's pace: no guess from one wait, or from others.
  bool pace_seen(const PeerId& peer) const;

  /// By what answers took. Bytes may take longer: routing/wiring/deadline.h.
  double deadline_s(const PeerId& peer, int64_t samples) const;
  double seconds_per_sample(const PeerId& peer) const { return costs_.seconds_per_sample(peer); }
  /// Of the last microbatch that it answered.
  Occupancy last_occupancy(const PeerId& peer) const;
  int64_t unfinished_samples(const PeerId& peer) const;

 private:
  struct Work {
    int64_t samples = 0;  // under way
    double picked_at_s = 0;
    double away_s = -1;                              // < 0: not known
    bool silent = false;                             // since its last answer, if there was one
    double unready_since_s = -1, unready_at_s = -1;  // < 0: it took the last one
    Occupancy last;
    AnswerPace pace;

    void saw_way(double seen_s);
    bool long_unready() const { return unready_at_s - unready_since_s > kNotReady_s; }
    bool unready(double now_s) const;
  };
  bool unready(const PeerId& peer, double now_s) const;
  void is_ready(Work& work);
  /// Whom others go before, at this cost.
  Tries::Condition busy(const Tries& tries, int64_t samples, double now_s);
  /// Whom the slot is meant for, where steps wait; nobody: others decide.
  std::optional<PeerId> meant(const Tries& tries, const std::vector<PeerId>& peers, int64_t samples,
                              double now_s);
  bool dealt_before(const Tries& tries);
  /// Until it would be done with what it has and `samples` more.
  double busy_s(const PeerId& peer, int64_t samples) const;
  bool passed_over(const PeerId& peer, int64_t samples, double bound_s, double now_s) const;
  void share_anew(const PeerId& peer);
  bool steps_wait() const { return patience_ < 1; }

  WiringCost cost_;
  double patience_;
  InterleavedRoundRobin router_;
  SplitMix64 random_;
  PeerEstimates round_trips_;  // of the whole answer: gives the deadlines
  PeerEstimates costs_;        // gives the shares
  std::map<PeerId, Work> work_;
  bool measured_ = false;  // somebody has answered
  StepShares step_shares_;
  uint32_t step_slots_ = 0, stage_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> dealt_;  // attempt, by step and slot
};

}  // namespace swarm::routing
