/// Whether this machine can compute what an experiment asks for, before its nodes start.
#pragma once

#include <string>

#include "common/cpu.h"
#include "common/result.h"
#include "config/experiment.h"

namespace swarm::launch {

/// Looks for the second executable and the devices of all stages, which will be on this machine.
/// Every machine has "cpu"; for other devices the second executable looks (`swarm device`).
/// Errors: kNotFound (no second executable), kInvalidArgument (a device that is not there, saying
/// what there is instead), kIo.
Status check_devices(const config::Experiment& experiment);

/// What people should know about the precision of the passes on such a CPU; empty: nothing. Pure.
std::string slow_precision(tensor::ComputeType compute, const std::string& device,
                           const CpuInstructions& cpu);

}  // namespace swarm::launch
