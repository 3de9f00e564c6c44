/// Actors of a node that nobody spawns anew: the records desk, the console, the supervisor itself. One that
/// dies would be missing in silence for as long as the process lives.
#pragma once

#include <caf/actor.hpp>
#include <functional>
#include <string>

namespace swarm::actors {

/// Calls `failed(why)` if `actor` ends otherwise than by its own wish or because it was told to shut
/// down. On the thread that it ends on: `failed` only notes it for others.
void watch(const caf::actor& actor, std::function<void(const std::string& why)> failed);

}  // namespace swarm::actors
