/// What the passes of a stage compute in blocks: how much of it is there at a time.
#pragma once

#include <cstdint>

namespace swarm::tensor {

/// Of at most so many tokens is the attention computed with one [T, T] matrix of weights a head, which
/// the graph keeps; of longer sequences in blocks (tensor/torch/attention.h). Of 128 tokens either is as
/// quick, of 256 the blocks are by a tenth (docs/performance.md, "Attention in blocks").
constexpr int64_t kWholeAttention = 128;

/// Logits of the loss in float32 [bytes]: of as many tokens as they have room for, but of one at least
/// (tensor/torch/block_loss.h).
constexpr uint64_t kLogitsOfBlock = 32 << 20;

}  // namespace swarm::tensor
