#include "apps/replay/replay.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "apps/replay/one_round.h"

namespace swarm::replay {

using launch::RecordedMember;
using launch::RecordedRound;
using launch::RecordedStep;

/// What travels of a step's microbatches, by slot.
struct Replay::Slots {
  uint32_t microbatch = 0, sequence = 0;
  std::map<uint32_t, Buffer> tokens;
  std::vector<std::map<uint32_t, tensor::EncodedTensor>> inputs;  ///< By stage; of the first none.
  /// By the outputs of the stage that is next.
  std::map<uint32_t, tensor::EncodedTensor> gradients;

  tensor::StageInput input(uint32_t stage, uint32_t slot) const {
    return {microbatch, sequence, tokens.at(slot),
            stage > 0 ? inputs[stage].at(slot) : tensor::EncodedTensor()};
  }
};

namespace {

tensor::MicrobatchKey key_of(uint64_t step, uint32_t slot) {
  return {Step(step), Slot(slot), Attempt(1)};
}

Error wrong_step(const RecordedStep& step, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("step {}{}", step.step, what)};
}

}  // namespace

Replay::Replay(ReplayOptions options, std::vector<std::unique_ptr<tensor::Stage>> stages)
    : options_(std::move(options)), stages_(std::move(stages)) {}

Status Replay::begin(const std::vector<Buffer>& states, const ResidualsOf& residuals) {
  bool same = true;
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    const uint64_t before = stages_[stage]->state_checksum();
    if (auto loaded = stages_[stage]->load_state(states[stage]); !loaded) return loaded;
    same &= stages_[stage]->state_checksum() == before;
  }
  if (!same) residuals_.clear();
  if (ahead_ && ahead_->first != step()) ahead_.reset();
  residuals_.insert(residuals.begin(), residuals.end());
  guessed_ = !same && ahead_ ? fmt::format("step {} had been computed on another state", step())
                             : std::string();
  return {};
}

std::vector<Buffer> Replay::states() const {
  std::vector<Buffer> states;
  for (const auto& stage : stages_) states.push_back(stage->save_state());
  return states;
}

// -- gradients

/// Of the run's size, and each slot in one sum of each stage.
Status Replay::check(const RecordedStep& step) const {
  const uint32_t slots = options_.batch / options_.microbatch;
  if (step.slots != slots || step.microbatch != options_.microbatch ||
      step.first_sample != step.step * options_.batch || step.skipped.size() >= slots ||
      step.samples != (slots - step.skipped.size()) * options_.microbatch)
    return wrong_step(step, ": other samples than the run's file says");
  if (step.rounds.size() != stages_.size())
    return wrong_step(step, fmt::format(" was closed for {} stages, the model has {}",
                                        step.rounds.size(), stages_.size()));
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    std::set<uint32_t> found = step.skipped;
    size_t count = found.size();
    for (const RecordedMember& member : step.rounds[stage].members) {
      found.insert(member.slots.begin(), member.slots.end());
      count += member.slots.size();
    }
    if (found.size() != slots || count != slots || *found.rbegin() >= slots)
      return wrong_step(step,
                        fmt::format(", stage {}: its sums do not hold each slot once", stage));
  }
  return {};
}

Status Replay::forward_all(const RecordedStep& step, Slots& slots) {
  slots.inputs.resize(stages_.size());
  for (uint32_t slot = 0; slot < step.slots; ++slot) {
    if (step.skipped.count(slot) != 0) continue;
    std::vector<uint64_t> samples;
    for (uint32_t i = 0; i < step.microbatch; ++i)
      samples.push_back(step.first_sample + uint64_t{slot} * step.microbatch + i);
    slots.tokens[slot] = options_.tokens(samples);
    for (uint32_t stage = 0; stage + 1 < stages_.size(); ++stage) {
      auto out = stages_[stage]->forward(key_of(step.step, slot), slots.input(stage, slot),
                                         /*forward_only=*/true);
      if (!out) return out.error();
      slots.inputs[stage + 1][slot] = std::move(*out);
    }
  }
  return {};
}

/// Into the stage's sum. Forwards are kept for one slot at a time: all of a step would not fit.
Status Replay::add_slot(uint32_t stage, uint64_t step, uint32_t slot, Slots& slots) {
  const auto key = key_of(step, slot);
  const auto input = slots.input(stage, slot);
  if (stage + 1 == stages_.size()) {
    auto loss = stages_[stage]->forward_backward(key, input, /*accumulate=*/true,
                                                 /*forward_only=*/false);
    if (!loss) return loss.error();
    slots.gradients[slot] = std::move(loss->gradient);
    return {};
  }
  if (auto kept = stages_[stage]->forward(key, input, /*forward_only=*/false); !kept)
    return kept.error();
  auto gradient = stages_[stage]->backward(key, slots.gradients.at(slot), /*accumulate=*/true);
  if (!gradient) return gradient.error();
  slots.gradients[slot] = std::move(*gradient);
  return {};
}

Result<std::vector<Buffer>> Replay::backward(uint32_t stage, const RecordedStep& step,
                                             Slots& slots) {
  std::vector<Buffer> sums;
  for (const RecordedMember& member : step.rounds[stage].members) {
    for (const uint32_t slot : member.slots)
      if (auto added = add_slot(stage, step.step, slot, slots); !added) {
        stages_[stage]->clear_gradients();
        return added.error();
      }
    sums.push_back(member.slots.empty() ? Buffer() : stages_[stage]->gradient_sum());
    stages_[stage]->clear_gradients();
  }
  return sums;
}

Result<Replay::Sums> Replay::sums_of(const RecordedStep& step) {
  if (auto right = check(step); !right) return right.error();
  Slots slots;
  slots.microbatch = step.microbatch;
  slots.sequence = options_.sequence;
  if (auto forward = forward_all(step, slots); !forward) return forward.error();
  Sums sums(stages_.size());
  for (auto stage = static_cast<uint32_t>(stages_.size()); stage-- > 0;) {
    auto of_stage = backward(stage, step, slots);
    if (!of_stage) return of_stage.error();
    sums[stage] = std::move(*of_stage);
    if (stage > 0) slots.inputs[stage].clear();
  }
  return sums;
}

// -- rounds

void Replay::guess(uint64_t step, uint32_t stage, const RecordedMember& member) {
  if (guessed_.empty())
    guessed_ = fmt::format("{} told nothing of step {}, stage {}", member.node, step, stage);
}

Result<tensor::Residuals> Replay::residuals_of(uint32_t stage, const RecordedMember& member) const {
  if (!member.gave_back) return tensor::Residuals{};
  const auto known = residuals_.find({stage, member.node});
  if (known == residuals_.end())
    return Error{ErrorCode::kNotFound,
                 "what codecs had taken from " + member.node + " before is not kept anywhere"};
  return known->second;
}

Result<std::vector<actors::AverageRound>> Replay::specs_of(uint32_t stage, const RecordedStep& step,
                                                           const std::vector<Buffer>& sums) {
  const RecordedRound& round = step.rounds[stage];
  const bool has_weights = round.part_weights.size() == round.members.size();
  std::vector<actors::AverageMember> members;
  for (uint32_t i = 0; i < round.members.size(); ++i) {
    actors::AverageMember member;
    member.averager = {NodeId(), fmt::format("averager.{}", i)};
    member.samples = uint64_t{step.microbatch} * round.members[i].slots.size();
    if (has_weights) member.part_weight = round.part_weights[i];
    members.push_back(std::move(member));
    if (!round.members[i].told) guess(step.step, stage, round.members[i]);
  }
  std::vector<actors::AverageRound> specs;
  for (uint32_t i = 0; i < members.size(); ++i) {
    actors::AverageRound spec;
    spec.round = Round(round.round);
    spec.members = members;
    spec.self = i;
    spec.gradient = sums[i];
    spec.n = stages_[stage]->num_parameters();
    spec.total_samples = step.samples;
    if (options_.feeds_errors_back) {
      auto has = residuals_of(stage, round.members[i]);
      if (!has)
        return Error{has.code(),
                     fmt::format("step {}, stage {}: {}", step.step, stage, has.error().detail)};
      spec.residuals = std::move(*has);
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

Status Replay::train(const RecordedStep& now, const RecordedStep* next) {
  std::optional<Sums> sums;
  if (ahead_ && ahead_->first == now.step) sums = std::move(ahead_->second);
  ahead_.reset();
  if (!sums) {
    if (now.computed_on != now.step || now.step != step())
      return Error{
          ErrorCode::kNotFound,
          fmt::format("step {} was computed on the parameters of {}, which are not at hand",
                      now.step, now.computed_on)};
    auto computed = sums_of(now);
    if (!computed) return computed.error();
    sums = std::move(*computed);
  }
  std::vector<RoundOutcome> means;
  double squared = 0;
  for (uint32_t stage = 0; stage < stages_.size(); ++stage) {
    auto specs = specs_of(stage, now, (*sums)[stage]);
    if (!specs) return specs.error();
    auto mean = make_round(options_.averaging, std::move(*specs));
    if (!mean) return mean.error();
    squared += mean->squared_norm;
    means.push_back(std::move(*mean));
  }
  sums.reset();
  if (next != nullptr && next->computed_on == now.step && next->step == now.step + 1) {
    auto computed = sums_of(*next);
    if (!computed) return computed.error();
    ahead_.emplace(next->step, std::move(*computed));
  }
  const double scale = tensor::clip_scale(options_.optimizer, std::sqrt(squared));
  for (uint32_t stage = 0; stage < stages_.size(); ++stage) {
    if (auto applied = stages_[stage]->apply(means[stage].mean, scale); !applied)
      return applied.error();
    const RecordedRound& round = now.rounds[stage];
    ++rounds_;
    same_ += means[stage].digest == round.digest;
    for (size_t i = 0; i < round.members.size(); ++i)
      if (means[stage].residuals[i])
        residuals_[{stage, round.members[i].node}] = *means[stage].residuals[i];
  }
  return {};
}

}  // namespace swarm::replay
