#include "apps/sim/exact_histories.h"

#include <algorithm>

#include "apps/sim/arithmetic_stage.h"

namespace swarm::sim {

ExactHistories::ExactHistories(const HistoryShape& shape) : shape_(shape), states_(1) {
  const Parameters first(shape.num_stages, std::vector<float>(kExactParameters, 0.0f));
  states_[0].insert({first, first});
}

void ExactHistories::closed(const records::ClosedStep& step) {
  reach(step.step);
  go_on(step.step, step.computed_on, {step.skipped.begin(), step.skipped.end()});
}

void ExactHistories::reach(uint64_t step) {
  while (states_.size() <= step) {
    states_.emplace_back();
    if (shape_.closed_unseen) go_on(states_.size() - 2, states_.size() - 2, {});
  }
}

void ExactHistories::go_on(uint64_t step, uint64_t computed_on, const std::set<uint32_t>& skipped) {
  reach(step + 1);
  for (const State& state : states_[step]) {
    if (computed_on == step)
      states_[step + 1].insert({next(state.now, state.now, step, skipped), state.now});
    else if (computed_on + 1 == step)
      states_[step + 1].insert({next(state.now, state.before, step, skipped), state.now});
  }
}

ExactHistories::Parameters ExactHistories::next(const Parameters& now,
                                                const Parameters& computed_on, uint64_t step,
                                                const std::set<uint32_t>& skipped) const {
  int64_t weights = 0;
  for (const auto& stage : computed_on) weights += weight_of(stage[0]);
  Parameters result = now;
  for (uint32_t stage = 0; stage < shape_.num_stages; ++stage) {
    int64_t sum = 0, samples = 0;
    for (uint64_t i = 0; i < shape_.batch; ++i) {
      if (skipped.count(static_cast<uint32_t>(i / shape_.microbatch)) != 0) continue;
      ++samples;
      sum += gradient_of(sample_value(step * shape_.batch + i), stage, weights,
                         weight_of(computed_on[stage][0]));
    }
    if (samples == 0) continue;
    const auto scale = static_cast<float>(1.0 / static_cast<double>(samples));  // as the averager's
    for (uint64_t i = 0; i < kExactParameters; ++i)
      result[stage][i] -= static_cast<float>(sum * static_cast<int64_t>(i + 1)) * scale;
  }
  return result;
}

bool ExactHistories::has(Stage stage, uint64_t step, const std::vector<float>& parameters) {
  reach(step);
  return std::any_of(states_[step].begin(), states_[step].end(), [&](const State& state) {
    const auto& right = state.now[stage.value()];
    return std::equal(right.begin(), right.end(), parameters.begin());
  });
}

float ExactHistories::first(Stage stage, uint64_t step) {
  reach(step);
  return states_[step].empty() ? 0 : states_[step].begin()->now[stage.value()][0];
}

}  // namespace swarm::sim
