/// Which members of a swarm hold its rounds up for longer than their work is worth (docs/averaging.md,
/// "Readers"). Such a one becomes a *reader*: it takes part in no round, gets no microbatches, and
/// learns the means from the others, who wait for it no more. It is asked again later.
///
///   member --kPatience steps in which it costs more than it brings--> reader
///     ^                                                                  |
///     '--- on trial, for one step: its links are better, or it is time --'
///
/// Stages average at the same time, and members may hide behind one another: of two that are as slow
/// nobody gains by the absence of one. So the slowest are judged together, of all stages, as many of them
/// as it pays best to be without; they leave one by one.
///
/// Pure; the caller counts the steps by reporting them. One owner: a Schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/averaging/step_rounds.h"

namespace swarm::routing {

class Readers {
 public:
  /// A member costs too much for so many steps in a row; one on trial in its first.
  static constexpr int kPatience = 3;
  /// A reader is asked again after so many steps, or after more, so that the trial takes no more than
  /// kTrialShare of the time of all, but never later than after kAskLatest.
  static constexpr int kAskAgain = 50, kAskLatest = 1'000;
  static constexpr double kTrialShare = 0.01;

  /// What a member is to the others.
  struct Worth {
    double costs_s = 0;  ///< By which a step is longer, because its round has this member.
    /// By which it would be longer if the others did this one's work, at most.
    double saves_s = 0;
    double slots = 0;  ///< That it brings, of a step.
  };
  using Member = StepRounds::Member;
  using Round = StepRounds::Round;
  /// A step whose rounds were done.
  using Done = StepRounds;

  void done(const Done& step);
  /// What a peer's links carry, as it tells; a reader with better ones may be asked again.
  void told(const PeerId& peer, const MemberLink& link);

  /// The next one to become a reader, if it is time.
  std::optional<PeerId> due(Stage stage) const;
  bool any_due() const { return !due_.empty(); }
  /// It is a reader now. Requires that it was due.
  void begin(Stage stage, const PeerId& peer);
  bool reads(const PeerId& peer) const;
  /// As of the last round with it; nothing if it was in none.
  std::optional<Worth> worth(const PeerId& peer) const;
  /// All take part: those that read are on trial.
  void admit_all();
  /// Forgets those that are not here: peers have new names at every start. A reader that is away may have
  /// lost its link only: it is remembered for kAskLatest calls, and reads on if it comes back.
  void keep(const std::function<bool(const PeerId&)>& is_here);

 private:
  struct Record {
    Stage stage;
    bool reads = false, on_trial = false;
    int rounds = 0;  ///< In a row that it cost too much; of a reader, since it is one.
    int ask_after = kAskAgain;
    int away = 0;  ///< Calls of keep() since it was here.
    MemberLink link;
    Worth worth;
    bool seen = false;
  };
  using Place = StepWithout::Place;
  using Places = std::vector<Place>;
  static const PeerId& peer_of(const Done& step, const Place& place) {
    return step.rounds[place.stage].members[place.member].peer;
  }
  const Record& record_of(const Done& step, const Place& place) const {
    return records_.at(peer_of(step, place));
  }
  StepWithout with_all(const Done& step) const;
  /// All that it pays to be without: most of all, and enough. `patient`: of those that have cost too much for
  /// long enough.
  Places too_costly(const Done& step, bool patient) const;
  void note_members(const Done& step);
  void note_worth(const Done& step, const Places& costly);
  void note_due(const Done& step);
  void count_readers(const Done& step);

  std::map<PeerId, Record> records_;
  std::map<Stage, PeerId> due_;
  Done latest_;
};

}  // namespace swarm::routing
