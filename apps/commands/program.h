/// What both executables share. `swarm` parses every command and carries out those that need no
/// LibTorch; for the others it goes on as `swarm-compute`, which parses the same arguments again
/// and has what this header calls Compute.
#pragma once

#include <functional>
#include <string>

#include "actors/node/node.h"
#include "common/result.h"

namespace swarm::apps {

struct SampleArguments;
struct VerifyArguments;
struct AveragingBenchOptions;
struct CheckpointBenchOptions;
struct DeviceBenchOptions;
struct SquareCubeBenchOptions;
struct ThroughputBenchOptions;

/// What only `swarm-compute` can do. Each function returns the exit code.
struct Compute {
  int (*sample)(const SampleArguments&);
  int (*verify)(const VerifyArguments&);
  int (*bench_throughput)(const ThroughputBenchOptions&);
  int (*bench_averaging)(const AveragingBenchOptions&);
  int (*bench_checkpoint)(const CheckpointBenchOptions&);
  int (*bench_device)(const DeviceBenchOptions&);
  int (*bench_square_cube)(const SquareCubeBenchOptions&);
  /// Prints this process's resident memory [MB].
  int (*bench_memory_baseline)();
  /// Whether stages can compute there. Errors: kInvalidArgument, saying what there is instead.
  Status (*check_device)(const std::string& device);
  actors::NodeDeps node;
};

struct Program {
  char** argv = nullptr;
  const Compute* compute = nullptr;  ///< Null in `swarm`.
  int exit_code = 0;

  /// Sets the exit code to work(*compute); in `swarm`, goes on as `swarm-compute` instead.
  void compute_here(const std::function<int(const Compute&)>& work);
};

/// main() of both.
int run_program(Program program, int argc);

}  // namespace swarm::apps
