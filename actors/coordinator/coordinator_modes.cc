#include "actors/coordinator/coordinator_modes.h"

#include <algorithm>

#include "routing/steps/async_schedule.h"
#include "routing/steps/delayed_schedule.h"
#include "routing/steps/sync_schedule.h"

namespace swarm::actors {
namespace {

routing::ScheduleOptions schedule_options(const CoordinatorDeps& deps) {
  const auto& training = deps.training;
  routing::ScheduleOptions options;
  options.steps = training.steps;
  options.slots = training.batch / training.microbatch;
  options.microbatch = training.microbatch;
  options.validate_every = training.validate_every;
  options.validation_slots = training.validation_samples / training.microbatch;
  options.save.every_steps = deps.checkpoint.every_steps;
  options.save.steps = training.steps;
  // A coordinator that the peer could follow has been announced twice by then.
  options.ahead_patience = 2 * deps.dht_options.announce_every + std::chrono::milliseconds(1'000);
  options.average_every = std::max(1u, training.sync_every / training.batch);
  options.background_averaging = training.background_averaging;
  options.open_periods = kOpenPeriods;
  options.rests = training.rests;
  return options;
}

routing::GatheringOptions gathering_options(const CoordinatorDeps& deps) {
  routing::GatheringOptions options;
  options.min_peers_per_stage = deps.training.min_peers_per_stage;
  options.min_peers = deps.training.min_peers;
  options.steps = deps.training.steps;
  options.start_grace = deps.options.start_grace;
  options.takeover_grace = deps.options.takeover_grace;
  options.report_patience = deps.silence_limit;
  options.minority_patience = 4 * deps.silence_limit;
  return options;
}

routing::Relocation make_relocation(const CoordinatorDeps& deps, bool by_period,
                                    routing::Roster& roster) {
  routing::PlacementOptions options = deps.options.placement;
  options.min_peers_per_stage = deps.training.min_peers_per_stage;
  options.min_peers = deps.training.min_peers;
  options.start_grace = deps.options.start_grace;
  options.here_within =
      std::max<routing::Time>(options.here_within, 3 * deps.dht_options.announce_every);
  return {deps.num_stages, by_period, options, roster};
}

}  // namespace

CoordinatorParts make_parts(const CoordinatorDeps& deps, routing::Roster& roster,
                            routing::Consent& consent) {
  auto steps = schedule_options(deps);
  auto gathers = gathering_options(deps);
  steps.consent = gathers.consent = &consent;
  const bool by_period = deps.training.asynchronous();
  steps.learns_on = !by_period;
  auto moves = make_relocation(deps, by_period, roster);
  if (by_period)
    return {std::make_unique<routing::AsyncSchedule>(steps, roster),
            std::make_unique<routing::GatheringByPeriod>(gathers, roster), std::move(moves),
            kOpenPeriods};
  auto gathering = std::make_unique<routing::Gathering>(gathers, roster);
  if (deps.training.delayed_updates)
    return {std::make_unique<routing::DelayedSchedule>(steps, roster), std::move(gathering),
            std::move(moves)};
  return {std::make_unique<routing::SyncSchedule>(steps, roster), std::move(gathering),
          std::move(moves)};
}

}  // namespace swarm::actors
