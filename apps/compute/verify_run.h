/// `swarm verify RUN`: the recorded steps of a run, replayed in one LibTorch process (rerun.h), against the
/// snapshots that its nodes still hold.
#pragma once

#include <string>

namespace swarm::apps {

struct VerifyRunOptions {
  std::string folder;            ///< A run whose nodes have ended.
  double tolerance = 1e-3;       ///< Largest relative difference of a tensor.
  bool tolerance_given = false;  ///< Then swarms that round are judged by it from the start, too.
  /// One replay through all steps, instead of one from each snapshot to the next: float noise then
  /// piles up, but nothing is taken from the swarm.
  bool from_start = false;
  int threads = 0;  ///< LibTorch threads; 0: as node.threads.
};

/// Prints a line for each snapshot's step and the verdict. Returns the exit code: 0 equal, 1 beyond
/// the tolerance, replicas differ or the files cannot be used, 2 no run folder, or beyond the tolerance
/// with from_start where codecs round and none was given (actors::what_rounds()).
int verify_run(const VerifyRunOptions& options);

}  // namespace swarm::apps
