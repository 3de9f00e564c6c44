/// What is said, within a node, about whole states of a stage.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/ids.h"
#include "common/strong_id.h"

namespace swarm::actors {

/// To a StateTransfer: fetch a state.
using fetch_atom = caf::atom_constant<caf::atom("fetch")>;
/// To the stage server -> FrozenState: a copy of the newest state. Errors: kNotReady.
using freeze_atom = caf::atom_constant<caf::atom("freeze")>;
/// To a StateTransfer: who answers freeze_atom.
using set_stage_atom = caf::atom_constant<caf::atom("setstage")>;

struct FrozenState {
  Buffer state;  ///< As Stage::save_state().
  Step step;
};

/// The StateTransfer of a neighbour.
struct StateHolder {
  ActorId actor;
  Endpoint endpoint;
  std::string node_name;  ///< For people.
};

struct FetchState {
  Stage stage;
  std::optional<Step> exact_step;  ///< None: the newest on offer.
  std::vector<StateHolder> sources;
  uint64_t max_bytes = 0;  ///< Larger offers are refused before memory is taken; >= 1.
};

struct FetchedState {
  Buffer state;
  Step step;
  std::string source;  ///< For people: the nodes that supplied it.
  double seconds = 0;
};

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FrozenState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FetchState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FetchedState)
