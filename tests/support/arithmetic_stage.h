/// The simulator's arithmetic stage under the tests' names.
#pragma once

#include "apps/sim/arithmetic_stage.h"

namespace swarm::test {
using sim::ArithmeticStage;
using sim::expected_parameters;
using sim::kParameters;
using sim::sample_value;
}  // namespace swarm::test
