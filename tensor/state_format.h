/// The bytes of a stage's snapshot: a proto::StageState whose last field is the payload. No
/// LibTorch; no limit of 2 GiB, because the payload is never parsed by protobuf. Pure.
#pragma once

#include <cstdint>

#include "common/buffer.h"
#include "common/result.h"
#include "swarm/state.pb.h"

namespace swarm::tensor {

constexpr uint32_t kStateFormatVersion = 1;

/// A snapshot in parts. `head.payload` is empty; `payload` shares the snapshot's memory.
struct StateView {
  proto::StageState head;
  /// float32 [3, num_parameters]: parameters, first moments, second moments; maybe unaligned.
  Buffer payload;
};

/// Parts of a snapshot whose length and version are right: the payload is exactly
/// 12 * num_parameters bytes and ends the buffer. Copies nothing. Errors: kCorruptCheckpoint.
Result<StateView> parse_state(const Buffer& state);

/// `head` (its payload empty), then `payload_bytes` bytes: a valid serialized proto::StageState.
Buffer serialize_state(const proto::StageState& head, const void* payload, uint64_t payload_bytes);

}  // namespace swarm::tensor
