/// The bytes of a stage's snapshot: a proto::StageState whose last field is the payload. No
/// LibTorch; no limit of 2 GiB, because the payload is never parsed by protobuf. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "swarm/state.pb.h"
#include "tensor/core/optimizer.h"
#include "tensor/core/payload_format.h"

namespace swarm::tensor {

/// Version 1 is AdamW's, as ever; version 2 names its optimizer. Both are read.
constexpr uint32_t kStateFormatAdamw = 1;
constexpr uint32_t kStateFormatVersion = 2;
/// The largest step; beyond it a double no longer counts exactly.
constexpr uint64_t kMaxStep = uint64_t{1} << 53;

/// A snapshot in parts. `head.payload` is empty; `payload` shares the snapshot's memory.
struct StateView {
  proto::StageState head;
  /// float32 [1 + moments, num_parameters]: parameters, then the optimizer's moments in the order
  /// of OptimizerInfo::moments; maybe unaligned.
  Buffer payload;
};

/// Parts of a snapshot whose length, version and counts are right: the payload is exactly
/// payload_bytes() and ends the buffer, and the optimizer can have counted so (see
/// check_counters()). Copies nothing. Errors: kCorruptCheckpoint.
Result<StateView> parse_state(const Buffer& state);

/// No head is longer: so many of a snapshot's first bytes contain it.
constexpr size_t kMaxHeadBytes = 64u << 10;
/// The head of a snapshot, or of its front; nothing if that is not readable.
std::optional<proto::StageState> head_of(const Buffer& front);
/// Its history; 0 also if that is not readable.
uint64_t history_of(const Buffer& front);

/// The optimizer's part of a head, the format version included.
void put_optimizer(OptimizerKind kind, const OptimizerCounters& counters, proto::StageState& head);
/// Requires a head from parse_state().
OptimizerKind optimizer_kind(const proto::StageState& head);
OptimizerCounters optimizer_counters(const proto::StageState& head);

/// What Stage::state_checksum() is: the xxh64 of four numbers of 8 bytes, those of the parameters' and the
/// moments' bytes and the two counters. A snapshot's by its payload and its head.
uint64_t state_checksum(const void* parameters, uint64_t parameter_bytes, const void* moments,
                        uint64_t moments_bytes, const OptimizerCounters& counters);
uint64_t state_checksum(const StateView& state);

/// Parameters and moments.
uint64_t payload_bytes(OptimizerKind kind, uint64_t num_parameters);
/// No snapshot is larger.
uint64_t max_state_bytes(OptimizerKind kind, uint64_t num_parameters);

/// `head` (its payload empty), then the parts: a valid serialized proto::StageState.
Buffer serialize_state(const proto::StageState& head, const std::vector<PayloadPart>& parts);

}  // namespace swarm::tensor
