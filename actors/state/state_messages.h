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
#include "routing/state/recent_means.h"
#include "routing/state/state_label.h"
#include "tensor/core/error_feedback.h"
#include "tensor/core/optimizer.h"

namespace swarm::actors {

/// To a StateTransfer: fetch a state.
using fetch_atom = caf::atom_constant<caf::atom("fetch")>;
/// To the stage server -> FrozenState: a copy of the newest state. Errors: kNotReady.
using freeze_atom = caf::atom_constant<caf::atom("freeze")>;
/// To a StateTransfer: who answers freeze_atom.
using set_stage_atom = caf::atom_constant<caf::atom("setstage")>;

/// To the stage server, (range_atom, uint64 first, uint64 count) -> RangeOfState: elements of its
/// state as it is now. Errors: kNotReady, kInvalidArgument.
using range_atom = caf::atom_constant<caf::atom("range")>;
/// To a StateTransfer: an AppliedMean; its stage server has made the update.
using applied_atom = caf::atom_constant<caf::atom("applied")>;
/// To a StateTransfer: somebody may soon need the means of the updates from now on.
using expect_atom = caf::atom_constant<caf::atom("expect")>;
/// To a StateTransfer: StandsAt; its stage server's state was replaced.
using stands_atom = caf::atom_constant<caf::atom("stands")>;

/// To the stage server, (spoiled_atom, uint32 stage, uint64 step): this copy cannot be read.
using spoiled_atom = caf::atom_constant<caf::atom("spoiled")>;

struct RangeOfState {
  routing::StateLabel label;
  tensor::OptimizerCounters counters;
  Buffer range;  ///< As Stage::save_range().
};

struct StandsAt {
  std::optional<routing::StateLabel> label;  ///< None: it has no state.
};

struct FrozenState {
  Buffer state;  ///< As Stage::save_state().
  Step step;
  routing::History history{};
  /// Of the peer, for its own disk alone; none: those that lie there stay.
  std::optional<tensor::Residuals> residuals{};
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
  std::string source;           ///< For people: the nodes that supplied it.
  std::vector<ActorId> from{};  ///< The same.
  double seconds = 0;
  uint64_t kept_bytes = 0;  ///< Of it, kept on the disk by an earlier process.
};

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FrozenState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FetchState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::FetchedState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::RangeOfState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::StandsAt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::routing::AppliedMean)
