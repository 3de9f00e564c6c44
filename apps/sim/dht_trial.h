/// DHT nodes and nothing else, real actors in virtual time: how long stores and reads take in swarms of
/// several sizes, what nodes say meanwhile, and what is found when many have vanished at once.
#pragma once

#include <chrono>
#include <cstdint>

#include "apps/bench/figures/dht_figures.h"

namespace swarm::sim {

struct DhtTrialOptions {
  int nodes = 100;
  uint64_t seed = 1;
  /// Of each message, one way; drawn between them.
  std::chrono::nanoseconds min_delay = std::chrono::milliseconds(10);
  std::chrono::nanoseconds max_delay = std::chrono::milliseconds(50);
  /// Announced names; each node announces itself under one, as peers of stages do, and reads another one.
  int names = 8;
  int samples = 100;      ///< Stores and reads that are timed, of each kind.
  double killed = 0.3;    ///< Of the nodes, in one moment, without a word.
  double counted_s = 60;  ///< Of a quiet swarm's traffic.
};

/// Requires 2 nodes and 1 name. Deterministic.
apps::DhtFigures run_dht_trial(const DhtTrialOptions& options);

}  // namespace swarm::sim
