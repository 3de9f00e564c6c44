/// The simulator's checkpoint store under the tests' name.
#pragma once

#include "apps/sim/disk.h"

namespace swarm::testing {
using sim::InMemoryCheckpointStore;
}  // namespace swarm::testing
