/// Whether this machine can compute what an experiment asks for, before its nodes start.
#pragma once

#include <cstdint>
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

/// Of this machine, that this process may use.
int32_t cores_here();

/// Its peers compute with more threads than there are cores, and one of them with several: how many; 0: they
/// do not. Pure.
int32_t crowded_threads(const config::Experiment& experiment, int32_t cores);

/// For the processes that this one starts from now on: threads that compute together wait for one another
/// briefly before they sleep. By default GNU's OpenMP spins 300 times as long, as if it had the CPU alone: four
/// peers of two threads on two cores got a ninth done. Alone it is quicker, by up to a third. GOMP_SPINCOUNT or
/// OMP_WAIT_POLICY of the user stay.
void spin_briefly();

/// What people should know about the precision of the passes on such a CPU; empty: nothing. Pure.
std::string slow_precision(tensor::ComputeType compute, const std::string& device,
                           const CpuInstructions& cpu);

}  // namespace swarm::launch
