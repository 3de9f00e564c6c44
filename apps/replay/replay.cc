#include "apps/replay/replay.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "apps/replay/one_round.h"
#include "common/names.h"

namespace swarm::replay {

using launch::RecordedMember;
using launch::RecordedRound;
using launch::RecordedStep;

/// What travels of a step's microbatches, by slot.
struct Replay::Slots {
  std::map<uint32_t, Buffer> tokens;
  std::vector<std::map<uint32_t, tensor::EncodedTensor>> inputs;  ///< By stage; of the first none.
  std::map<uint32_t, tensor::EncodedTensor>
      gradients;  ///< By the outputs of the stage that is next.
  tensor::StageInput input(uint32_t stage, uint32_t slot, uint32_t samples,
                           uint32_t sequence) const {
    return {samples, sequence, tokens.at(slot),
            stage > 0 ? inputs[stage].at(slot) : tensor::EncodedTensor()};
  }
  uint32_t microbatch = 0;
};

namespace {

tensor::MicrobatchKey key_of(uint64_t step, uint32_t slot) {
  return {Step(step), Slot(slot), Attempt(1)};
}

Status check_slots(const RecordedStep& step, size_t stages) {
  if (step.rounds.size() != stages)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("step {} was closed for {} stages, the model has {}", step.step,
                             step.rounds.size(), stages)};
  for (size_t stage = 0; stage < stages; ++stage) {
    std::set<uint32_t> held;
    size_t count = 0;
    for (const RecordedMember& member : step.rounds[stage].members) {
      held.insert(member.slots.begin(), member.slots.end());
      count += member.slots.size();
    }
    const bool wrong = held.size() != count || count + step.skipped.size() != step.slots ||
                       (!held.empty() && *held.rbegin() >= step.slots);
    for (const uint32_t slot : step.skipped) count += held.count(slot);
    if (wrong || count != held.size())
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("step {}, stage {}: its sums do not hold each slot once", step.step, stage)};
  }
  return {};
}

}  // namespace

Replay::Replay(ReplayOptions options, std::vector<std::unique_ptr<tensor::Stage>> stages)
    : options_(std::move(options)), stages_(std::move(stages)) {}

Status Replay::begin(const std::vector<Buffer>& states, const ResidualsOf& residuals) {
  const uint64_t before = step();
  for (size_t stage = 0; stage < stages_.size(); ++stage)
    if (auto loaded = stages_[stage]->load_state(states[stage]); !loaded) return loaded;
  if (before != step()) {
    residuals_.clear();
    from_zero_ = false;
  }
  if (ahead_ && ahead_->first != step()) ahead_.reset();
  for (const auto& [peer, has] : residuals) residuals_[peer] = has;
  return {};
}

std::vector<Buffer> Replay::states() const {
  std::vector<Buffer> states;
  for (const auto& stage : stages_) states.push_back(stage->save_state());
  return states;
}

// -- gradients

Status Replay::forward_all(const RecordedStep& step, Slots& slots) {
  slots.inputs.resize(stages_.size());
  slots.microbatch = step.microbatch;
  for (uint32_t slot = 0; slot < step.slots; ++slot) {
    if (step.skipped.count(slot) != 0) continue;
    std::vector<uint64_t> samples;
    for (uint32_t i = 0; i < step.microbatch; ++i)
      samples.push_back(step.first_sample + uint64_t{slot} * step.microbatch + i);
    slots.tokens[slot] = options_.tokens(samples);
    for (uint32_t stage = 0; stage + 1 < stages_.size(); ++stage) {
      const auto input = slots.input(stage, slot, step.microbatch, options_.sequence);
      auto out = stages_[stage]->forward(key_of(step.step, slot), input, /*forward_only=*/true);
      if (!out) return out.error();
      slots.inputs[stage + 1][slot] = std::move(*out);
    }
  }
  return {};
}

/// Into the stage's sum. Forwards are kept for one slot at a time: all of a step would not fit.
Status Replay::add_slot(uint32_t stage, uint64_t step, uint32_t slot, Slots& slots) {
  const auto key = key_of(step, slot);
  const auto input = slots.input(stage, slot, slots.microbatch, options_.sequence);
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
  if (auto right = check_slots(step, stages_.size()); !right) return right.error();
  Slots slots;
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

Result<std::vector<actors::AverageRound>> Replay::specs_of(uint32_t stage, const RecordedStep& step,
                                                           const std::vector<Buffer>& sums) const {
  const RecordedRound& round = step.rounds[stage];
  std::vector<actors::AverageMember> members;
  for (uint32_t i = 0; i < round.members.size(); ++i) {
    actors::AverageMember member;
    member.averager = {NodeId(), fmt::format("averager.{}", i)};
    member.samples = uint64_t{step.microbatch} * round.members[i].slots.size();
    if (round.part_weights.size() == round.members.size())
      member.part_weight = round.part_weights[i];
    members.push_back(std::move(member));
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
      const RecordedMember& member = round.members[i];
      const auto known = residuals_.find({stage, member.node});
      if (member.gave_back && known == residuals_.end() && !from_zero_)
        return Error{ErrorCode::kNotFound,
                     fmt::format("step {}, stage {}: what codecs had taken from {} before is not "
                                 "kept anywhere",
                                 step.step, stage, member.node)};
      const bool gives = known != residuals_.end() && (member.gave_back || !member.told);
      spec.residuals = gives ? known->second : tensor::Residuals{};
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
  if (next != nullptr && next->computed_on != next->step) {
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
