#include "actors/stage/residuals.h"

#include <fmt/format.h>

#include "actors/net/requests.h"
#include "actors/state/checkpointer.h"
#include "tensor/core/residual_format.h"

namespace swarm::actors {

std::string residual_key(Stage stage) { return fmt::format("{}{}", kResidualStreams, stage); }

std::optional<tensor::Residuals> residuals_of(const StageContext& context) {
  if (!context.deps.feeds_errors_back) return std::nullopt;
  return context.residuals.value_or(tensor::Residuals{});
}

/// Of the means only what lies in the part that it reduces now can be given back.
void take_residuals(StageContext& context, const AverageResult& result) {
  if (!result.residuals) return;
  const auto before = context.residuals.value_or(tensor::Residuals{});
  const tensor::Residual& now = result.residuals->mean;
  const double lost = tensor::norm_outside(before.mean, now.first, now.count());
  if (lost > 0)
    context.record(records::ResidualLost{0, lost, "it reduces another part of the vector"});
  context.residuals = *result.residuals;
}

void drop_residuals(StageContext& context, const std::string& why) {
  const auto before = context.residuals.value_or(tensor::Residuals{});
  const double contribution = tensor::norm(before.contribution);
  const double mean = tensor::norm(before.mean);
  context.residuals = tensor::Residuals{};
  if (contribution > 0 || mean > 0) context.record(records::ResidualLost{contribution, mean, why});
}

void save_residuals(StageContext& context, const FrozenState& frozen,
                    const std::function<void()>& then) {
  if (!context.deps.feeds_errors_back || !frozen.residuals) return then();
  context.self
      ->request(context.deps.checkpointer, caf::infinite, save_beside_atom::value,
                residual_key(context.deps.stage), frozen)
      .then(then, [&context, then](const caf::error& error) {
        context.record(records::CheckpointFailed{from_caf(error)});
        then();
      });
}

/// Before the first average there was nothing to lose.
void restore_residuals(StageContext& context, Step step, uint64_t digest,
                       std::chrono::milliseconds limit, const std::function<void()>& then) {
  if (!context.deps.feeds_errors_back || step == Step(0)) return then();
  context.residuals.reset();
  const auto take = [&context, then](const Result<tensor::Residuals>& found) {
    context.residuals = found ? *found : tensor::Residuals{};
    if (!found) context.record(records::ResidualLost{0, 0, to_string(found.error())});
    then();
  };
  context.self
      ->request(context.deps.checkpointer, limit, load_atom::value,
                residual_key(context.deps.stage), step.value())
      .then(
          [&context, step, digest, take](const Buffer& bytes) {
            take(tensor::parse_residuals(bytes, {step.value(), context.history.value(), digest},
                                         context.num_parameters));
          },
          [take](const caf::error& error) { take(from_caf(error)); });
}

}  // namespace swarm::actors
