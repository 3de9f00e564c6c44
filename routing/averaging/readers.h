/// Which members of a stage hold its rounds up for longer than their work is worth (docs/averaging.md,
/// "Readers"). Such a one becomes a *reader*: it takes part in no round, gets no microbatches, and
/// learns the means from the others, who wait for it no more. It is asked again later.
///
///   member --kPatience rounds in which it costs more than it brings--> reader
///     ^                                                                   |
///     '--- on trial, for one round: its links are better, or it is time --'
///
/// Pure; the caller counts the rounds by reporting them. One owner: a Schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/averaging/part_weights.h"

namespace swarm::routing {

class Readers {
 public:
  /// A member costs too much for so many rounds in a row; one on trial in its first.
  static constexpr int kPatience = 3;
  /// A reader is asked again after so many rounds, or after more, so that the trial takes no more than
  /// kTrialShare of the time of all.
  static constexpr int kAskAgain = 50;
  static constexpr double kTrialShare = 0.01;

  /// What a member is to the others of its stage.
  struct Worth {
    double costs_s = 0;  ///< By which a step is longer, because its round has this member.
    double saves_s =
        0;             ///< By which it would be longer if the others did this one's work, at most.
    double slots = 0;  ///< That it brings, of a step.
  };
  struct Member {
    PeerId peer;
    MemberLink link;
    size_t slots = 0;
  };
  /// A round that was done.
  struct Done {
    std::vector<Member> members;
    double bytes = 0;      ///< Of the vector, as a member sends it.
    double filling_s = 0;  ///< From the opening of the step until its round began.
    double hidden_s = 0;   ///< Nobody waits for a round that takes no longer.
  };

  void done(Stage stage, const Done& round);
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
  /// Forgets those that are not here: peers have new names at every start.
  void keep(const std::function<bool(const PeerId&)>& is_here);

 private:
  struct Record {
    Stage stage;
    bool reads = false, on_trial = false;
    int rounds = 0;  ///< In a row that it cost too much; of a reader, since it is one.
    int ask_after = kAskAgain;
    MemberLink link;
    Worth worth;
    bool seen = false;
  };
  Worth worth_of(size_t member, const Done& round) const;
  static bool costs_too_much(const Worth& worth, const Done& round);
  void note(Stage stage, const Done& round);
  void count_readers(Stage stage, const Done& round);

  std::map<PeerId, Record> records_;
  std::map<Stage, PeerId> due_;
  std::map<Stage, Done> latest_;
};

}  // namespace swarm::routing
