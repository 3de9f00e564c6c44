/// Measures links between two processes, beside raw TCP in the same run (`swarm bench transport`).
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::actors {

struct TransportBenchOptions {
  size_t body_bytes = size_t{8} * 512 * 768 * 4;  ///< [8, 512, 768] float32.
  int large_rounds = 30;                          ///< Alternating: raw TCP, actors.
  int small_rounds = 3'000;
  int streaming_rounds = 300;  ///< Small requests while large ones stream.
};

/// All there-and-back. Echo of a body: the receiver has it whole before it sends it back.
struct TransportFigures {
  double raw_large_ms = 0;  ///< Median.
  double actors_large_ms = 0;
  double raw_small_ms = 0;  ///< Median of 64 bytes.
  double actors_small_ms = 0;
  double actors_small_p99_ms = 0;
  double streaming_median_ms = 0;  ///< Of small requests while two large ones are in flight.
  double streaming_p99_ms = 0;
  double streaming_mb_per_s = 0;  ///< Of the large ones meanwhile, each direction.

  double ratio() const { return raw_large_ms > 0 ? actors_large_ms / raw_large_ms : 0; }
  /// Several lines for people.
  std::string text() const;
};

/// The other process: echoes on a link and on a raw socket, both on loopback with free ports;
/// prints "LINK_PORT RAW_PORT\n" to stdout and ends with exit code 0 when stdin ends.
int run_transport_bench_child();

/// Runs the benchmark. `child_command` starts a process that calls run_transport_bench_child(),
/// e.g. {"/proc/self/exe", "bench", "transport", "--child"}; it is ended whatever happens.
/// Errors: kIo (no child), kLinkLost, kPeerTimeout.
Result<TransportFigures> run_transport_bench(const std::vector<std::string>& child_command,
                                             const TransportBenchOptions& options = {});

}  // namespace swarm::actors
