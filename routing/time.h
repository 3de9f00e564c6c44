/// Time as the pure decisions see it.
#pragma once

#include <chrono>

namespace swarm::routing {

/// A point in time: since any origin, the caller's, who never lets it fall. Durations too.
using Time = std::chrono::nanoseconds;

}  // namespace swarm::routing
