/// Chunks of a whole state on the disk of a node that downloads it: what a block of them is, byte for
/// byte. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "common/buffer.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/state/download_plan.h"

namespace swarm::actors {

/// Which state: chunks of any other are of no use.
struct WholeState {
  std::string run_id, config_fingerprint;
  Stage stage;
  routing::StateOffer offer;
};

/// "learned/2/whole": the stream of the blocks in a checkpoint store.
std::string whole_key(Stage stage);

struct KeptChunks {
  uint64_t offset = 0;  ///< In the state.
  Buffer bytes;
};

/// A serialized proto::KeptChunks.
Buffer encode_chunks(const WholeState& state, const KeptChunks& chunks);
/// Shares the block's memory. Errors: kCorruptCheckpoint, kInvalidArgument (of another state).
Result<KeptChunks> decode_chunks(const WholeState& state, const Buffer& block);

}  // namespace swarm::actors
