/// How states of a stage travel between its peers.
#pragma once

#include <chrono>
#include <cstdint>

namespace swarm::actors {

/// More of a state is neither asked for nor given in one message.
constexpr uint32_t kMaxStateChunkBytes = 4u << 20;

struct StateTransferOptions {
  std::chrono::milliseconds ttl{30'000};  ///< A frozen state that nobody reads is dropped.
  uint32_t chunk_bytes = 1u << 20;        ///< Of one request; at most kMaxStateChunkBytes.
  uint32_t chunks_in_flight = 4;          ///< Per source.
};

}  // namespace swarm::actors
