/// How states of a stage travel between its peers.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>

#include "common/strong_id.h"

namespace swarm::actors {

/// More of a state is neither asked for nor given in one message.
constexpr uint32_t kMaxStateChunkBytes = 4u << 20;

/// Elements of a range that a learner asks for, at most.
constexpr uint64_t kMaxRangeElements = 256u << 10;

/// What is known of a link before anything has come over it [bytes/s].
constexpr double kSlowestLink = 16u << 10;

struct StateTransferOptions {
  std::chrono::milliseconds ttl{30'000};  ///< A frozen state that nobody reads is dropped.
  uint32_t chunk_bytes = 1u << 20;        ///< Of one request; at most kMaxStateChunkBytes.
  uint32_t chunks_in_flight = 4;          ///< Per source.
  /// Of a state that is learned, without the means; 0: as fast as it goes. Lower: others notice less
  /// of a newcomer, which comes in later.
  double state_bytes_per_s = 0;
  /// Of ranges that a learner writes to its disk, so that its download survives its process; 0: it
  /// begins anew. Never more than twice what comes over its links.
  double keep_bytes_per_s = 32e6;
};

/// Of copies of other stages' snapshots (actors/stage/copy_keeper.h).
struct CopyOptions {
  bool keeps = false;       ///< One stage server of each node does.
  std::set<Stage> own{};    ///< Stages that its node serves.
  uint64_t most_bytes = 0;  ///< Of a snapshot of any stage.
};

}  // namespace swarm::actors
