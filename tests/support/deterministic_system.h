/// The simulator's actor system under the tests' names.
#pragma once

#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include "apps/sim/deterministic_system.h"

namespace swarm::test {
using sim::DeterministicConfig;
using sim::DeterministicSystem;
}  // namespace swarm::test
