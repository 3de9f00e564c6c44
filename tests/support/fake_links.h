/// The simulator's network under the tests' names.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include "apps/sim/network.h"

namespace swarm::test {
using sim::FakeNetwork;
using sim::Fate;
}  // namespace swarm::test
