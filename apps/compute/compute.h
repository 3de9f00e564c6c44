/// The handlers of struct Compute (apps/commands/program.h) that stand in files of their own.
#pragma once

namespace swarm::apps {

struct SampleArguments;
struct VerifyArguments;
struct AveragingBenchOptions;
struct CheckpointBenchOptions;
struct DeviceBenchOptions;
struct SquareCubeBenchOptions;
struct ThroughputBenchOptions;

int sample(const SampleArguments& arguments);
int verify(const VerifyArguments& arguments);

/// Swarms of one peer a stage, with one thread each, beside one LibTorch process with as many threads as
/// there are stages, and at most 2.
int bench_throughput(const ThroughputBenchOptions& options);

/// One all-reduce of float32 vectors among peers on this machine, one process each, through
/// averagers and links over TCP; in alternation with Gloo if that was found at build time. Checks
/// that the results are right.
int bench_averaging(const AveragingBenchOptions& options);

/// Snapshots of a stage beside a plain file of the same bytes, and the steps during which they are made.
int bench_checkpoint(const CheckpointBenchOptions& options);

/// Times both passes of a microbatch through a block of the experiment's model, and prints an entry of
/// [[devices]] for a plan (docs/planner.md).
int bench_device(const DeviceBenchOptions& options);

/// Both passes of a block, and its activations and gradients over a link of given rate and round trip, against
/// the model's width.
int bench_square_cube(const SquareCubeBenchOptions& options);

}  // namespace swarm::apps
