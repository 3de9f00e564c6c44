#include "apps/compute/rerun.h"

#include <fmt/format.h>

#include <utility>

#include "actors/node/roles.h"
#include "actors/stage/residuals.h"
#include "apps/compute/train_alone.h"
#include "apps/replay/replay.h"
#include "tensor/core/flat.h"
#include "tensor/core/residual_format.h"
#include "tensor/core/state_format.h"
#include "tensor/torch/model_stage.h"

namespace swarm::apps {
namespace {

using storage::StageSnapshot;

class PlainRerun final : public Rerun {
 public:
  explicit PlainRerun(std::unique_ptr<tensor::ReferenceTrainer> trainer)
      : trainer_(std::move(trainer)) {}

  Status begin(const std::vector<StageSnapshot>&, const tensor::ReferenceState& state) override {
    return trainer_->restore(state);
  }
  Status train_until(uint64_t step) override {
    auto run = trainer_->train_until(step);
    return run ? Status() : run.error();
  }
  Result<tensor::ReferenceState> state() const override { return trainer_->state(); }

 private:
  std::unique_ptr<tensor::ReferenceTrainer> trainer_;
};

class RoundingRerun final : public Rerun {
 public:
  RoundingRerun(const tensor::ModelOptions& model, const launch::RecordedSteps& recorded,
                const storage::RunSnapshots& snapshots, std::unique_ptr<replay::Replay> replay)
      : model_(model), recorded_(recorded), snapshots_(snapshots), replay_(std::move(replay)) {}

  Status begin(const std::vector<StageSnapshot>& snapshots,
               const tensor::ReferenceState&) override {
    std::vector<Buffer> states;  // one of each stage; they are ordered
    replay::ResidualsOf residuals;
    for (const StageSnapshot& one : snapshots) {
      if (one.stage == static_cast<int32_t>(states.size())) states.push_back(one.state);
      const auto stage = static_cast<uint32_t>(one.stage);
      if (auto kept = residuals_beside(one)) residuals[{stage, one.node}] = std::move(*kept);
    }
    begun_ = true;
    return replay_->begin(states, residuals);
  }

  Status train_until(uint64_t step) override {
    while (replay_->step() < step) {
      const auto now = recorded_.find(replay_->step());
      const auto next = recorded_.find(replay_->step() + 1);
      if (now == recorded_.end())
        return Error{ErrorCode::kNotFound,
                     fmt::format("the audit has no step {}", replay_->step())};
      const auto* ahead = next == recorded_.end() ? nullptr : &next->second;
      const uint64_t rounds = replay_->rounds(), same = replay_->same_rounds();
      if (auto trained = replay_->train(now->second, ahead); !trained) return trained;
      if (!std::exchange(begun_, false) || !replay_->guessed().empty()) continue;
      first_rounds_ += replay_->rounds() - rounds;
      first_same_ += replay_->same_rounds() - same;
    }
    return {};
  }

  Result<tensor::ReferenceState> state() const override {
    return tensor::reference_state(model_, replay_->states());
  }

  std::string doubt() const override { return replay_->guessed(); }

  /// Nine tenths of the rounds of first steps, which begin with the run's own bits: a swarm that is wrong is wrong here
  /// and there, another kind of processor is another one everywhere.
  bool has_the_runs_bits() const override { return 10 * first_same_ >= 9 * first_rounds_; }

  std::string words() const override {
    return fmt::format("{} of {} rounds gave the run's means bit by bit", replay_->same_rounds(),
                       replay_->rounds());
  }

 private:
  /// Of the peer whose snapshot that is; nothing if there are none, or none of this state.
  std::optional<tensor::Residuals> residuals_beside(const StageSnapshot& one) const {
    const auto stage = static_cast<uint32_t>(one.stage);
    const auto view = tensor::parse_state(one.state);
    const auto bytes = snapshots_.read(one.node, actors::residual_key(Stage(stage)), one.step);
    if (!view || !bytes) return std::nullopt;
    const tensor::StateMark mark{one.step, view->head.history(),
                                 tensor::digest(one.state.data(), one.state.size())};
    auto parsed = tensor::parse_residuals(*bytes, mark, replay_->stage(stage).num_parameters());
    if (!parsed) return std::nullopt;
    return std::move(*parsed);
  }

  const tensor::ModelOptions model_;
  const launch::RecordedSteps& recorded_;
  const storage::RunSnapshots& snapshots_;
  std::unique_ptr<replay::Replay> replay_;
  bool begun_ = true;  ///< The next step is the first one from a state of the run.
  uint64_t first_rounds_ = 0, first_same_ = 0;
};

}  // namespace

Result<std::unique_ptr<Rerun>> plain_rerun(const actors::NodeOptions& options,
                                           const launch::AuditReport& audit,
                                           const tensor::TextData& data) {
  auto trainer = tensor::ReferenceTrainer::make(reference_options(options, audit.recorded), data);
  if (!trainer) return trainer.error();
  return std::unique_ptr<Rerun>(std::make_unique<PlainRerun>(std::move(*trainer)));
}

Result<std::unique_ptr<Rerun>> rounding_rerun(const actors::NodeOptions& options,
                                              const launch::AuditReport& audit,
                                              const tensor::TextData& data,
                                              const storage::RunSnapshots& snapshots) {
  std::vector<std::unique_ptr<tensor::Stage>> stages;
  for (uint32_t stage = 0; stage < static_cast<uint32_t>(options.num_stages); ++stage) {
    auto made = tensor::make_stage(actors::stage_options(options, Stage(stage)));
    if (!made) return made.error();
    stages.push_back(std::move(*made));
  }
  replay::ReplayOptions how;
  how.averaging = actors::all_reduce_setup(options.averager);
  how.feeds_errors_back = actors::feeds_errors_back(options.averager, options.training);
  how.optimizer = options.optimizer;
  how.batch = options.training.batch;
  how.microbatch = options.training.microbatch;
  how.sequence = static_cast<uint32_t>(options.model.sequence);
  how.tokens = [&data](const std::vector<uint64_t>& samples) {
    return data.microbatch(tensor::Split::kTrain, samples);
  };
  auto replay = std::make_unique<replay::Replay>(std::move(how), std::move(stages));
  return std::unique_ptr<Rerun>(std::make_unique<RoundingRerun>(
      reference_options(options).model, audit.recorded, snapshots, std::move(replay)));
}

}  // namespace swarm::apps
