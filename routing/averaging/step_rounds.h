/// The rounds of a step, one of each stage at the same time, and what they would have taken without some of
/// their members (docs/averaging.md, "Readers").
///
/// What members tell is told by strangers: it counts up to what the rounds took, and beside what most tell.
///
/// Pure; one owner.
#pragma once

#include <cstddef>
#include <vector>

#include "common/ids.h"
#include "routing/averaging/part_weights.h"

namespace swarm::routing {

struct StepRounds {
  struct Member {
    PeerId peer;
    MemberLink link;
    size_t slots = 0;
  };
  /// Of one stage.
  struct Round {
    std::vector<Member> members;
    double bytes = 0;   ///< Of the vector, as a member sends it.
    double took_s = 0;  ///< As the caller saw it: nobody costs more.
  };
  std::vector<Round> rounds;  ///< By stage.
  double filling_s = 0;       ///< From the opening of the step until its rounds began.
  double hidden_s = 0;        ///< Nobody waits for a round that takes no longer.
};

class StepWithout {
 public:
  struct Place {
    size_t stage = 0, member = 0;
  };

  /// Without nobody yet. `slots`: of each stage's members, those that one brings of a step. `step` outlives
  /// this.
  StepWithout(const StepRounds& step, std::vector<std::vector<double>> slots);

  /// Members whose links may be the reason that rounds take long, those first that need longest for their own
  /// vectors; of equal ones who brings less.
  std::vector<Place> slow_ones() const;

  void remove(const Place& place) { set_gone(place, true); }
  void put_back(const Place& place) { set_gone(place, false); }

  /// Each of those that are gone is slow beside the rest of its stage, and beside the rest of the swarm: two
  /// at least, and as many as they are.
  bool all_slow() const;
  /// That everybody waits for the rounds.
  double stall_s() const;
  /// By which the step would have been shorter at most, as its rounds took: those of stages that nobody is
  /// gone from would have taken as long.
  double most_saved_s() const;
  /// By which the step is longer with those that are gone.
  double costs_s() const;
  /// By which it would be longer, at most, if the others did their work.
  double saves_s() const;
  /// Likewise, of one that is gone, if the others that are gone do not come back.
  double saves_s(const Place& place) const;

 private:
  struct OfStage {
    std::vector<bool> gone;
    std::vector<double> slots;
    double round_s = 0;
    bool touched = false;
  };
  void set_gone(const Place& place, bool gone);
  double seconds(size_t stage) const;
  std::vector<double> rates(size_t stage) const;
  double stall_of(double longest_s) const;
  double slots(size_t stage, bool gone) const;

  const StepRounds& step_;
  std::vector<OfStage> stages_;
  double with_all_s_ = 0;
};

}  // namespace swarm::routing
