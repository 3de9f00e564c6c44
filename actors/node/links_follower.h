/// Hands the Links actor what its links are to be made to be, whenever that changes
/// (docs/bad_network.md); only on nodes that were told where to look.
///
/// Thread  detached: looking is a read of a file.
/// Timers  looks ten times a second, the first time at once.
/// Records LinksShaped; LinksFileRefused, once for each fault: the links stay as they were.
/// Exit    the links stay as they are.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "actors/net/links/shape/options.h"
#include "actors/node/event_log.h"
#include "common/result.h"

namespace swarm::actors {

/// What has changed since the last call; nothing: nothing has.
using NewShape = std::function<std::optional<Result<ShapeOptions>>()>;

struct LinksFollowerDeps {
  caf::actor links;
  std::shared_ptr<EventLog> events;  // shared with every role
  NewShape poll;
  bool detached = true;  ///< False on the deterministic scheduler.
};

caf::actor spawn_links_follower(caf::actor_system& system, LinksFollowerDeps deps);

}  // namespace swarm::actors
