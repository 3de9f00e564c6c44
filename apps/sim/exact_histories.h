/// What the parameters of all stages may be: one loop over the steps as they were closed.
///
/// A gradient depends on the parameters of every stage that it was computed on (StepGradient in
/// arithmetic_stage.h), and a closing says which those were, so whoever computed on others, or has
/// some of one history and some of another, ends with parameters that no history has.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "common/strong_id.h"
#include "records/audit.h"

namespace swarm::sim {

/// A step may have been closed more than once, with other skips: then there are several histories.
class ExactHistories {
 public:
  struct Shape {
    uint32_t num_stages = 1;
    uint32_t batch = 1, microbatch = 1;  ///< Samples.
    /// A step that nobody closed may have been applied too, computed on its own parameters, all of
    /// it. Not with delayed updates: what a step was computed on is in its closing only.
    bool closed_unseen = true;
  };
  explicit ExactHistories(const Shape& shape);

  /// A coordinator has closed a step.
  void closed(const records::ClosedStep& step);
  /// Whether the stage may have these parameters after `step` steps.
  bool has(Stage stage, uint64_t step, const std::vector<float>& parameters);
  /// The first parameter, in one of the histories; 0 if there is none.
  float first(Stage stage, uint64_t step);

 private:
  using Parameters = std::vector<std::vector<float>>;  ///< By stage.
  struct State {
    Parameters now, before;  ///< Before: of the step before.
    bool operator<(const State& other) const {
      return now != other.now ? now < other.now : before < other.before;
    }
  };
  void reach(uint64_t step);
  void go_on(uint64_t step, uint64_t computed_on, const std::set<uint32_t>& skipped);
  Parameters next(const Parameters& now, const Parameters& computed_on, uint64_t step,
                  const std::set<uint32_t>& skipped) const;

  Shape shape_;
  std::vector<std::set<State>> states_;  ///< By step.
};

}  // namespace swarm::sim
