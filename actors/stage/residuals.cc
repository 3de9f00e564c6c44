#include "actors/stage/residuals.h"

#include <fmt/format.h>

#include "actors/net/requests.h"
#include "actors/state/checkpointer.h"
#include "tensor/core/residual_format.h"

namespace swarm::actors {

std::string residual_key(Stage stage) { return fmt::format("{}{}", kResidualStreams, stage); }

std::optional<tensor::Residuals> residuals_of(const StageContext& context) {
  return context.deps.feeds_errors_back ? std::make_optional(context.residuals) : std::nullopt;
}

/// Of the means only what lies in the part that it reduces now can be given back.
void take_residuals(StageContext& context, const AverageResult& result) {
  if (!result.residuals) return;
  const tensor::Residual &before = context.residuals.mean, &now = result.residuals->mean;
  const double lost = tensor::norm_outside(before, now.first, now.count());
  if (lost > 0)
    context.record(records::ResidualLost{0, lost, "it reduces another part of the vector"});
  context.residuals = *result.residuals;
}

void drop_residuals(StageContext& context, const std::string& why) {
  const double contribution = tensor::norm(context.residuals.contribution);
  const double mean = tensor::norm(context.residuals.mean);
  context.residuals = {};
  if (contribution > 0 || mean > 0) context.record(records::ResidualLost{contribution, mean, why});
}

void save_residuals(StageContext& context, const FrozenState& frozen) {
  const auto& residuals = frozen.residuals;
  if (residuals.contribution.values.empty() && residuals.mean.values.empty()) return;
  context.self
      ->request(context.deps.checkpointer, caf::infinite, save_atom::value,
                residual_key(context.deps.stage), frozen.step.value(),
                tensor::serialize_residuals(residuals, frozen.step.value(), frozen.history.value()),
                /*replace=*/true)
      .then([](uint64_t) {},
            [&context](const caf::error& error) {
              context.record(records::CheckpointFailed{from_caf(error)});
            });
}

/// Before the first average there was nothing to lose.
void restore_residuals(StageContext& context, Step step, std::chrono::milliseconds limit,
                       const std::function<void()>& then) {
  if (!context.deps.feeds_errors_back || step == Step(0)) return then();
  const auto take = [&context, then](const Result<tensor::Residuals>& found) {
    if (found)
      context.residuals = *found;
    else
      context.record(records::ResidualLost{0, 0, to_string(found.error())});
    then();
  };
  context.self
      ->request(context.deps.checkpointer, limit, load_atom::value,
                residual_key(context.deps.stage), step.value())
      .then(
          [&context, step, take](const Buffer& bytes) {
            take(tensor::parse_residuals(bytes, step.value(), context.history.value(),
                                         context.num_parameters));
          },
          [take](const caf::error& error) { take(from_caf(error)); });
}

}  // namespace swarm::actors
