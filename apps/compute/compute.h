/// The handlers of struct Compute (apps/commands/program.h) that stand in files of their own.
#pragma once

namespace swarm::apps {

struct SampleArguments;
struct VerifyArguments;
struct AveragingBenchOptions;
struct CheckpointBenchOptions;
struct DeviceBenchOptions;

int sample(const SampleArguments& arguments);
int verify(const VerifyArguments& arguments);

/// 1 stage x 1 trainer beside one LibTorch process with 1 thread, and 2 stages x 1 peer beside one
/// process with 2 threads.
int bench_overhead();

/// One all-reduce of float32 vectors among peers on this machine, one process each, through
/// averagers and links over TCP; in alternation with Gloo if that was found at build time. Checks
/// that the results are right.
int bench_averaging(const AveragingBenchOptions& options);

/// Snapshots of a stage beside a plain file of the same bytes, and the steps during which they are made.
int bench_checkpoint(const CheckpointBenchOptions& options);

/// Times both passes of a microbatch through a block of the experiment's model, and prints an entry of
/// [[devices]] for a plan (docs/planner.md).
int bench_device(const DeviceBenchOptions& options);

}  // namespace swarm::apps
