/// Steps of a run's history once more, in one process, as its peers made them: the same stages, codecs, sums
/// and rounds, and what error feedback gave back (docs/run_folder.md, "What `swarm verify RUN` does"). Where
/// codecs take something of what travels, one process that rounds nothing would be somewhere else
/// after a few steps, though each of them were right.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "apps/audit/recorded_steps.h"
#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/error_feedback.h"
#include "tensor/core/stage.h"

namespace swarm::replay {

struct ReplayOptions {
  actors::AllReduceSetup averaging;
  bool feeds_errors_back = false;  ///< actors::feeds_errors_back() of the run.
  tensor::OptimizerOptions optimizer;
  uint32_t batch = 0, microbatch = 0;  ///< Samples; steps of other sizes are refused.
  uint32_t sequence = 0;               ///< T
  /// As TextData::microbatch() of the training text.
  std::function<Buffer(const std::vector<uint64_t>& samples)> tokens;
};

/// A stage's peer on that node.
using StageNode = std::pair<uint32_t, std::string>;
using ResidualsOf = std::map<StageNode, tensor::Residuals>;

/// One owner. Holds the sums of all members of all stages of a step; with delayed updates of two.
class Replay {
 public:
  /// `stages`: of the model, in their order, with the run's codecs and precision; at step 0.
  Replay(ReplayOptions options, std::vector<std::unique_ptr<tensor::Stage>> stages);

  /// Goes on from `states` (Stage::save_state()), one of each stage, all of one step; what has been computed
  /// ahead stays. `residuals`: beside the states, of peers that have any there; what the replay has made itself
  /// stays in their place, if it has these very states. Errors: as Stage::load_state().
  Status begin(const std::vector<Buffer>& states, const ResidualsOf& residuals);

  /// One step, of the number step(). `next`: the one after it, whose gradients are computed before the update
  /// if they were; null: there is none. Errors: kNotFound (what cannot be known any more: parameters of an
  /// earlier update, what codecs took from a peer), kInvalidArgument (not a step of this run, slots that are in no sum, or
  /// in two), of the stages and rounds. If no stage has been updated nothing has changed but what is computed ahead, which
  /// is dropped.
  Status train(const launch::RecordedStep& now, const launch::RecordedStep* next);

  uint64_t step() const { return stages_.front()->step(); }
  /// Stage::save_state() of each.
  std::vector<Buffer> states() const;
  const tensor::Stage& stage(size_t index) const { return *stages_[index]; }

  uint64_t rounds() const { return rounds_; }
  /// Of these: the mean has the bits of the run's.
  uint64_t same_rounds() const { return same_; }
  /// Since begin(): why it may be elsewhere than the run, which was right; "": it is not. Whose word would have been
  /// needed to know what it did, the first of them.
  const std::string& guessed() const { return guessed_; }

 private:
  using Sums = std::vector<std::vector<Buffer>>;  ///< By stage, member; empty: it has none.
  struct Slots;
  Status check(const launch::RecordedStep& step) const;
  Result<Sums> sums_of(const launch::RecordedStep& step);
  Status forward_all(const launch::RecordedStep& step, Slots& slots);
  Result<std::vector<Buffer>> backward(uint32_t stage, const launch::RecordedStep& step,
                                       Slots& slots);
  Status add_slot(uint32_t stage, uint64_t step, uint32_t slot, Slots& slots);
  Result<std::vector<actors::AverageRound>> specs_of(uint32_t stage,
                                                     const launch::RecordedStep& step,
                                                     const std::vector<Buffer>& sums);
  Result<tensor::Residuals> residuals_of(uint32_t stage,
                                         const launch::RecordedMember& member) const;
  void guess(uint64_t step, uint32_t stage, const launch::RecordedMember& member);

  ReplayOptions options_;
  std::vector<std::unique_ptr<tensor::Stage>> stages_;
  std::optional<std::pair<uint64_t, Sums>> ahead_;  ///< Of a step that is to come.
  ResidualsOf residuals_;
  std::string guessed_;
  uint64_t rounds_ = 0, same_ = 0;
};

}  // namespace swarm::replay
