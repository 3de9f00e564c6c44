#include "actors/node/roles.h"

#include <caf/send.hpp>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/averaging/averager.h"
#include "actors/coordinator/coordinator.h"
#include "actors/net/log.h"
#include "actors/node/drain_times.h"
#include "actors/stage/compute.h"
#include "actors/stage/newcomer.h"
#include "actors/stage/residuals.h"
#include "actors/stage/stage_server.h"
#include "actors/state/checkpointer.h"
#include "actors/state/kept_chunks.h"
#include "actors/state/kept_ranges.h"
#include "actors/state/mirror.h"
#include "actors/state/state_transfer.h"
#include "actors/trainer/trainer.h"
#include "common/strong_id.h"
#include "tensor/core/memory_options.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {

tensor::StageOptions stage_options(const NodeOptions& options, Stage stage) {
  tensor::StageOptions out;
  out.model = options.model;
  out.model.seed = options.training.seed;
  out.optimizer = options.optimizer;
  out.stage = static_cast<int32_t>(stage.value());
  out.num_stages = options.num_stages;
  out.backward = options.backward;
  out.compute = options.compute;
  out.device = options.device;
  out.activation_codec = options.activation_codec;
  out.gradient_codec = options.gradient_codec;
  out.config_fingerprint = options.config_fingerprint;
  out.older_fingerprint = options.older_fingerprint;
  return out;
}

bool feeds_errors_back(const AveragerOptions& averager, const TrainingOptions& training) {
  return averager.error_feedback && averager.codec != tensor::Codec::kNone &&
         !training.averages_moments();
}

namespace {

/// What the Deps of every role have.
template <class Deps>
Deps common_deps(const RoleContext& context, const RoleName& name) {
  Deps deps;
  deps.id = {context.node, name.text()};
  deps.endpoint = context.endpoint;
  deps.node_name = context.options.name;
  deps.num_stages = static_cast<uint32_t>(context.options.num_stages);
  deps.training = context.options.training;
  deps.dht_options = context.options.dht;
  deps.links = context.links;
  deps.dht = context.dht;
  deps.events = context.events;
  deps.text = context.text;
  return deps;
}

caf::actor interposed(const RoleContext& context, Role role, const caf::actor& actor) {
  return context.interpose ? context.interpose(role, actor) : actor;
}

caf::actor spawn_compute_of(const RoleContext& context, Stage stage) {
  auto make = [make = context.make_stage, options = stage_options(context.options, stage)] {
    return make(options);
  };
  const std::chrono::duration<double> half_delay(context.options.delay_s / 2);
  return interposed(context, Role::kCompute,
                    spawn_compute(*context.system, make, context.detached, half_delay));
}

int32_t stage_at(const RoleContext& context, uint32_t place) {
  return context.serves ? context.serves->at(place) : context.options.stages[place];
}

/// That have been given to it so far.
std::set<Stage> stages_of(const RoleContext& context) {
  std::set<Stage> stages;
  for (uint32_t place = 0; place < context.options.stages.size(); ++place)
    if (const int32_t stage = stage_at(context, place); stage >= 0)
      stages.insert(Stage(static_cast<uint32_t>(stage)));
  return stages;
}

/// Of a node with several places none moves: two would write the same snapshots.
std::function<void(Stage)> mover_of(const RoleContext& context, uint32_t place) {
  if (!context.serves || context.options.stages.size() != 1) return {};
  return [serves = context.serves, place](Stage to) {
    if (const auto kept = serves->move(place, static_cast<int32_t>(to.value())); !kept)
      log_warn("event=stage_not_kept reason=\"" + kept.error().detail + "\"");
  };
}

/// What the node was learning when it served another stage is of no use any more, nor is what codecs took
/// from it there.
caf::actor spawn_checkpointer_of(const RoleContext& context) {
  auto checkpointer =
      interposed(context, Role::kCheckpointer,
                 spawn_checkpointer(*context.system, context.store, context.options.checkpoint.keep,
                                    context.detached));
  std::vector<std::string> learned, residuals;
  for (uint32_t place = 0; place < context.options.stages.size(); ++place) {
    const Stage stage(static_cast<uint32_t>(stage_at(context, place)));
    learned.push_back(learned_key(stage));
    learned.push_back(whole_key(stage));
    if (feeds_errors_back(context.options.averager, context.options.training))
      residuals.push_back(residual_key(stage));
  }
  caf::anon_send(checkpointer, retain_atom::value, std::string(kLearnedStreams), learned);
  caf::anon_send(checkpointer, retain_atom::value, std::string(kResidualStreams), residuals);
  return checkpointer;
}

caf::actor spawn_averager_of(const RoleContext& context, const PeerId& peer, Stage stage) {
  AveragerDeps deps;
  deps.id = beside(peer, Role::kAverager);
  deps.links = context.links;
  deps.stage = stage;
  deps.options = context.options.averager;
  deps.detached = context.detached;
  return spawn_averager(*context.system, std::move(deps));
}

caf::actor spawn_state_transfer_of(const RoleContext& context, const PeerId& peer, Stage stage,
                                   const caf::actor& checkpointer) {
  StateTransferDeps deps;
  deps.id = beside(peer, Role::kState);
  deps.links = context.links;
  deps.stage = stage;
  deps.options = context.options.state_transfer;
  deps.store = context.store;
  deps.keeper = {checkpointer, context.options.run_id, context.options.config_fingerprint};
  deps.detached = context.detached;
  return spawn_state_transfer(*context.system, std::move(deps));
}

caf::actor spawn_mirror_of(const RoleContext& context, Stage stage) {
  const NodeOptions& options = context.options;
  MirrorDeps deps;
  deps.options = {options.checkpoint.mirror, options.run_id, options.config_fingerprint,
                  options.name};
  deps.stage = stage;
  deps.num_stages = static_cast<uint32_t>(options.num_stages);
  deps.keep = options.checkpoint.keep;
  deps.store = context.store;
  deps.events = context.events;
  deps.detached = context.detached;
  return interposed(context, Role::kMirror, spawn_mirror(*context.system, std::move(deps)));
}

/// The first of the node's stage servers keeps the copies of other stages' snapshots; what it saved itself, when
/// it served another stage, is one too.
CopyOptions copy_options(const RoleContext& context, uint32_t place) {
  const NodeOptions& options = context.options;
  CopyOptions copies;
  const bool has_any = options.checkpoint.copies > 0 || options.coordinator.placement.moves;
  copies.keeps = place == 0 && has_any && options.num_stages > 1;
  copies.own = stages_of(context);
  if (!copies.keeps) return copies;
  for (int32_t stage = 0; stage < options.num_stages; ++stage) {
    const uint64_t parameters = tensor::stage_parameters(options.model, stage, options.num_stages);
    const uint64_t bytes = tensor::max_state_bytes(options.optimizer.kind, parameters);
    if (bytes > copies.most_bytes) copies.most_bytes = bytes;
  }
  return copies;
}

/// What a microbatch takes until it is answered. The last stage answers at once and keeps nothing.
void tell_memory(const NodeOptions& options, int32_t stage, StageServerDeps& deps) {
  if (stage == options.num_stages - 1) return;
  deps.kept_bytes_per_sample =
      tensor::kept_bytes_per_sample(options.model, stage, options.num_stages, options.backward);
  deps.boundary_bytes_per_sample = tensor::boundary_bytes_per_sample(
      options.model, options.activation_codec, options.gradient_codec);
  if (!options.training.keeps_versions(options.backward)) return;
  const auto device = tensor::parse_device(options.device);
  deps.version_bytes_per_parameter =
      tensor::version_bytes_per_parameter(options.compute, device ? *device : tensor::Device());
}

}  // namespace

RoleActors spawn_stage_role(const RoleContext& context, uint32_t place, uint32_t life) {
  const NodeOptions& options = context.options;
  const RoleName name{Role::kStage, place, life};
  auto deps = common_deps<StageServerDeps>(context, name);
  deps.move_to = mover_of(context, place);
  const int32_t number = stage_at(context, place);
  if (number < 0) return {{name, spawn_newcomer(*context.system, std::move(deps))}};
  const Stage stage(static_cast<uint32_t>(number));
  deps.stage = stage;
  deps.sequence = options.model.sequence;
  tell_memory(options, number, deps);
  deps.run_id = options.run_id;
  deps.config_fingerprint = options.config_fingerprint;
  deps.optimizer = options.optimizer;
  deps.average_codec = options.averager.codec;
  deps.rounds = !what_rounds(options).empty();
  deps.feeds_errors_back = feeds_errors_back(options.averager, options.training);
  deps.options = options.stage_server;
  deps.state_transfer_options = options.state_transfer;
  deps.faults = options.faults;
  deps.drain_limit = drain_times(options.grace_s).roles;
  deps.copies = copy_options(context, place);
  deps.compute = spawn_compute_of(context, stage);
  deps.checkpointer = spawn_checkpointer_of(context);
  deps.averager = spawn_averager_of(context, deps.id, stage);
  deps.state_transfer = spawn_state_transfer_of(context, deps.id, stage, deps.checkpointer);
  RoleActors actors{{name.with(Role::kCompute), deps.compute},
                    {name.with(Role::kCheckpointer), deps.checkpointer},
                    {name.with(Role::kAverager), deps.averager},
                    {name.with(Role::kState), deps.state_transfer}};
  if (!options.checkpoint.mirror.empty())
    actors[name.with(Role::kMirror)] = deps.mirror = spawn_mirror_of(context, stage);
  actors[name] = spawn_stage_server(*context.system, std::move(deps));
  return actors;
}

RoleActors spawn_coordinator_role(const RoleContext& context, uint32_t life) {
  const RoleName name{Role::kCoordinator, 0, life};
  auto deps = common_deps<CoordinatorDeps>(context, name);
  deps.sequence = context.options.model.sequence;
  deps.checkpoint = context.options.checkpoint;
  deps.options = context.options.coordinator;
  deps.silence_limit = context.options.links.silence_limit;
  deps.hard_to_reach = context.hard_to_reach;
  return {{name, spawn_coordinator(*context.system, std::move(deps))}};
}

RoleActors spawn_trainer_role(const RoleContext& context, uint32_t life) {
  const RoleName name{Role::kTrainer, 0, life};
  auto deps = common_deps<TrainerDeps>(context, name);
  deps.options = context.options.trainer_options;
  deps.node_peers = static_cast<uint32_t>(stages_of(context).size());
  deps.lease_limit = context.options.coordinator.lease_limit;
  deps.finish_limit = std::min(deps.finish_limit, drain_times(context.options.grace_s).roles / 2);
  deps.boundary_bytes_per_sample = tensor::boundary_bytes_per_sample(
      context.options.model, context.options.activation_codec, context.options.gradient_codec);
  deps.data = context.data;
  deps.own_text = context.own_text;
  deps.say = context.say;
  return {{name, spawn_trainer(*context.system, std::move(deps))}};
}

RoleActors spawn_voter_role(const RoleContext& context, uint32_t life,
                            const std::shared_ptr<VoterMemory>& memory) {
  VoterDeps deps;
  deps.id = {context.node, kVoterName};
  deps.endpoint = context.endpoint;
  deps.node_name = context.options.name;
  deps.links = context.links;
  deps.dht = context.dht;
  deps.dht_options = context.options.dht;
  deps.leave_limit = drain_times(context.options.grace_s).vote;
  deps.disk = context.voter_disk;
  deps.memory = memory;
  deps.detached = context.detached;
  return {{{Role::kVoter, 0, life}, spawn_voter(*context.system, std::move(deps))}};
}

std::vector<RoleGroup> role_groups(const std::shared_ptr<const RoleContext>& context) {
  std::vector<RoleGroup> groups;
  const bool has_role = !context->options.stages.empty() || context->options.trainer;
  if (has_role && context->voter_disk)
    groups.push_back(
        {{Role::kVoter}, [context, memory = std::make_shared<VoterMemory>()](uint32_t life) {
           return spawn_voter_role(*context, life, memory);
         }});
  for (uint32_t place = 0; place < context->options.stages.size(); ++place)
    groups.push_back({{Role::kStage, place}, [context, place](uint32_t life) {
                        return spawn_stage_role(*context, place, life);
                      }});
  if (!context->options.trainer) return groups;
  groups.push_back({{Role::kCoordinator},
                    [context](uint32_t life) { return spawn_coordinator_role(*context, life); }});
  groups.push_back(
      {{Role::kTrainer}, [context](uint32_t life) { return spawn_trainer_role(*context, life); }});
  return groups;
}

}  // namespace swarm::actors
