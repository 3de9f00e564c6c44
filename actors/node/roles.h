/// The roles of a node, made from its options: the one place where options become the Deps of
/// actors. Used by a process (actors/node/node.cc) and by the simulator, so both wire alike.
#pragma once

#include <atomic>
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/node/event_log.h"
#include "actors/node/options.h"
#include "actors/voter/voter.h"
#include "actors/voter/voter_disk.h"
#include "common/ids.h"
#include "common/names.h"
#include "common/result.h"
#include "common/run_text.h"
#include "records/kept_stages.h"
#include "records/kept_text.h"
#include "storage/checkpoint_store.h"
#include "tensor/core/stage.h"
#include "tensor/data/text_data.h"

namespace swarm::actors {

/// The actors that live and die together, by name.
using RoleActors = std::map<RoleName, caf::actor>;

/// What all roles of a node share.
struct RoleContext {
  caf::actor_system* system = nullptr;
  NodeOptions options;
  NodeId node;
  Endpoint endpoint;
  caf::actor links, dht;
  std::shared_ptr<EventLog> events;                 ///< Shared by all roles.
  std::shared_ptr<storage::CheckpointStore> store;  ///< Shared by all stages; null without any.
  std::shared_ptr<VoterDisk> voter_disk;            ///< Of its voter; null: the node has none.
  std::shared_ptr<const tensor::TextData> data;     ///< Shared with the trainer; null without one.
  /// What its places serve; shared by all roles. Null: what the options say, for good.
  std::shared_ptr<records::KeptStages> serves;
  RunText own_text;  ///< What `data` is; not known(): not checked.
  /// What the run reads, as the node was told; shared by all roles.
  std::shared_ptr<records::KeptText> text = std::make_shared<records::KeptText>();
  /// Set when others cannot dial this node; read by its coordinator.
  std::shared_ptr<std::atomic<bool>> hard_to_reach = std::make_shared<std::atomic<bool>>(false);
  std::function<void(const std::string&)> say = [](const std::string&) {};  ///< A line for people.
  /// Called in the thread of the compute actor.
  std::function<Result<std::unique_ptr<tensor::Stage>>(const tensor::StageOptions&)> make_stage;
  /// What computes or blocks has a thread of its own; false on the deterministic scheduler.
  bool detached = true;
  /// May put another actor before one that computes or writes (the simulator's slow machines);
  /// returns whom to send to. Null: nobody stands between.
  std::function<caf::actor(Role, const caf::actor&)> interpose;
};

/// What a stage of these options is made of.
tensor::StageOptions stage_options(const NodeOptions& options, Stage stage);
/// Whether what the codec of averages takes is given back: a second moment that something is taken from may become
/// negative.
bool feeds_errors_back(const AveragerOptions& averager, const TrainingOptions& training);

/// The stage server of that place with its compute actor, checkpointer, averager and state transfer;
/// or a newcomer, while the place has no stage.
RoleActors spawn_stage_role(const RoleContext& context, uint32_t place, uint32_t life);
RoleActors spawn_coordinator_role(const RoleContext& context, uint32_t life);
RoleActors spawn_trainer_role(const RoleContext& context, uint32_t life);
/// `memory`: of the process, in all lives of the role. Requires context.voter_disk.
RoleActors spawn_voter_role(const RoleContext& context, uint32_t life,
                            const std::shared_ptr<VoterMemory>& memory);

/// A group of actors that is ended whole and spawned again when one of them dies.
struct RoleGroup {
  RoleName name;  ///< In its first life.
  /// Spawns the group in a later life (0: the first).
  std::function<RoleActors(uint32_t life)> spawn;
};

/// All that options ask for: a group for each stage; for a trainer, a coordinator and a trainer; and a
/// voter for all of them.
std::vector<RoleGroup> role_groups(const std::shared_ptr<const RoleContext>& context);

}  // namespace swarm::actors
