/// What the parameters of all stages may be, by the steps as they were closed.
///
/// A gradient depends on the parameters of every stage that it was computed on (gradient_of() in
/// arithmetic_stage.h), and a closing says which those were, so whoever computed on others, or has
/// some of one history and some of another, ends with parameters that no history has.
#pragma once

#include <cstdint>
#include <vector>

#include "common/strong_id.h"
#include "records/audit.h"

namespace swarm::sim {

struct HistoryShape {
  uint32_t num_stages = 1;
  uint32_t batch = 1, microbatch = 1;  ///< Samples.
  /// A step that nobody closed may have been applied too, computed on its own parameters, all of
  /// it. Not with delayed updates: what a step was computed on is in its closing only.
  bool closed_unseen = true;
};

class Histories {
 public:
  virtual ~Histories() = default;
  /// A coordinator has closed a step.
  virtual void closed(const records::ClosedStep& step) = 0;
  /// Whether the stage may have these parameters after `step` steps.
  virtual bool has(Stage stage, uint64_t step, const std::vector<float>& parameters) = 0;
  /// The first parameter, in one of the histories; 0 if there is none.
  virtual float first(Stage stage, uint64_t step) = 0;
};

}  // namespace swarm::sim
