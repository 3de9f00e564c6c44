/// The measurements of `swarm bench`. Each prints a table and returns the exit code; the limits of
/// docs/performance.md are judged there, not here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::apps {

/// [8, 512, 768] float32 there and back through actors and links between two processes, beside
/// raw TCP in the same run; the smallest request alone and while tensors stream.
int bench_transport();

/// 1 stage x 1 trainer beside one LibTorch process with 1 thread, and 2 stages x 1 peer beside one
/// process with 2 threads.
int bench_overhead();

/// Resident memory of nodes without work, beside this program with LibTorch loaded and nothing else
/// (which bench_memory_baseline() prints about its own process [MB]).
int bench_memory();
int bench_memory_baseline();

/// One all-reduce of float32 vectors among peers on this machine, one process each, through
/// averagers and links over TCP; turn and turn about with Gloo where that was there at build time.
/// Checks that the results are right.
struct AveragingBenchOptions {
  std::vector<uint64_t> elements{10'000'000, 100'000'000};
  std::vector<uint32_t> peers{2, 4};
  int rounds = 7;  ///< Measured; the first, which faults in memory, is told apart.
  bool json = false;
};
int bench_averaging(const AveragingBenchOptions& options);

/// Trains FILE's swarm (its timeline left out) while stage peers are killed and paused one after
/// the other; apps/bench/figures/bench_failover_figures.h says what is measured. Takes 14 s a blow.
struct FailoverBenchOptions {
  std::string file;
  std::vector<std::string> overrides;
  int kills = 10;
  int pauses = 10;
  uint64_t seed = 1;
  bool json = false;
};
int bench_failover(const FailoverBenchOptions& options);

}  // namespace swarm::apps
