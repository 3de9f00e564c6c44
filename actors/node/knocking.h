/// Asks who listens at an address, on a thread of its own, for actors that must not block.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>

#include "actors/net/links/links.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors {

/// Who answers at an address; may block (links::knock()). Errors say what is wrong.
using Knock = std::function<Result<NodeInfo>(const Endpoint&)>;

/// Runs `knock` on a thread of its own (with `detached`; else in the scheduler, for tests) and gives
/// the outcome to `done` in `self`, at the latest after 60 s.
void knock_in_background(caf::event_based_actor* self, const Knock& knock, const Endpoint& at,
                         bool detached, std::function<void(const Result<NodeInfo>&)> done);

}  // namespace swarm::actors
