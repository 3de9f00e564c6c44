#include "apps/sim/lossy_histories.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/sim/arithmetic_stage.h"
#include "tensor/core/codec.h"

namespace swarm::sim {

namespace {

/// Of values up to `largest`, every one of them `step` parts of it apart.
double worst_loss_up_to(tensor::Codec codec, float largest, int step) {
  constexpr int kValues = 64;  // less than a block of any codec
  std::vector<float> values{largest};
  for (int i = 1; i < kValues; ++i)
    values.push_back(largest * static_cast<float>(i * kValues + step) / (kValues * kValues));
  const auto encoded = tensor::encode(values.data(), {kValues}, codec);
  const Buffer back = tensor::decode_flat(encoded, kValues).value();
  const auto* decoded = reinterpret_cast<const float*>(back.data());
  double worst = 0;
  for (int i = 0; i < kValues; ++i)
    worst = std::max(worst, std::abs(double{decoded[i]} - double{values[i]}));
  return worst / largest;
}

}  // namespace

/// Codes of floating point are the same between two powers of two: they take the largest part just above one.
double worst_loss(tensor::Codec codec) {
  double worst = 0;
  for (const float largest : {1.0f, 1.1f, 1.3f, 1.6f, 1.9f})
    for (int step = 0; step < 64; ++step)
      worst = std::max(worst, worst_loss_up_to(codec, largest, step));
  return worst;
}

LossyHistories::LossyHistories(const HistoryShape& shape, tensor::Codec codec)
    : shape_(shape), loss_(worst_loss(codec)) {
  for (uint32_t stage = 0; stage < shape.num_stages; ++stage)
    seen(Stage(stage), 0).insert(Parameters(kExactParameters, 0.0f));
}

void LossyHistories::closed(const records::ClosedStep& step) {
  closings_[step.step].insert({step.computed_on, {step.skipped.begin(), step.skipped.end()}});
}

LossyHistories::Values LossyHistories::weights_of(Stage stage, uint64_t step) {
  Values weights;
  for (const Parameters& one : seen(stage, step)) weights.insert(weight_of(one.front()));
  return weights;
}

LossyHistories::Values LossyHistories::all_weights(uint64_t step) {
  Values sums{0};
  for (uint32_t stage = 0; stage < shape_.num_stages; ++stage) {
    Values next;
    for (const int64_t weight : weights_of(Stage(stage), step))
      for (const int64_t sum : sums) next.insert((sum + weight) % 8);
    sums = std::move(next);
  }
  return sums;
}

/// A member's sum loses a part of its largest element, and gives back what it lost of the sum before; so
/// does the mean. The largest of all members' sums together is the largest of the sum of all.
bool LossyHistories::changes_by(Stage stage, const Parameters& from, const Parameters& to,
                                double gradient, double counted) const {
  const auto largest = largest_.find(stage);
  const double before = largest == largest_.end() ? 0 : largest->second;
  const double most = 2 * (1 + loss_) * loss_ * static_cast<double>(kExactParameters) *
                      (gradient + before * shape_.batch / counted);
  for (uint64_t i = 0; i < kExactParameters; ++i) {
    const double changed = double{from[i]} - double{to[i]};
    if (std::abs(changed - gradient * static_cast<double>(i + 1)) > most + 1e-2) return false;
  }
  return true;
}

bool LossyHistories::follows(Stage stage, uint64_t step, const Closing& closing,
                             const Parameters& now) {
  double values = 0, counted = 0;
  for (uint64_t i = 0; i < shape_.batch; ++i) {
    if (closing.skipped.count(static_cast<uint32_t>(i / shape_.microbatch)) != 0) continue;
    ++counted;
    values += sample_value(step * shape_.batch + i);
  }
  const auto& all = seen(stage, step);
  if (counted == 0) return all.count(now) != 0;
  for (const int64_t weights : all_weights(closing.computed_on))
    for (const int64_t own : weights_of(stage, closing.computed_on)) {
      const auto rest = static_cast<double>(gradient_of(0, stage.value(), weights, own));
      const double gradient = values / counted + rest;
      const bool found = std::any_of(all.begin(), all.end(), [&](const Parameters& before) {
        return changes_by(stage, before, now, gradient, counted);
      });
      if (!found) continue;
      largest_[stage] = std::max(largest_[stage], gradient);
      return true;
    }
  return false;
}

bool LossyHistories::has(Stage stage, uint64_t step, const std::vector<float>& parameters) {
  const Parameters now(parameters.begin(), parameters.begin() + kExactParameters);
  if (seen(stage, step).count(now) != 0) return true;
  if (step == 0) return false;
  auto closings = closings_[step - 1];
  if (shape_.closed_unseen) closings.insert({step - 1, {}});
  const bool right = std::any_of(closings.begin(), closings.end(), [&](const Closing& closing) {
    return follows(stage, step - 1, closing, now);
  });
  if (right) seen(stage, step).insert(now);
  return right;
}

float LossyHistories::first(Stage stage, uint64_t step) {
  const auto& all = seen(stage, step);
  return all.empty() ? 0 : all.begin()->front();
}

}  // namespace swarm::sim
