/// Causal attention: of short sequences by one [T, T] matrix of weights a head, of longer ones in
/// blocks, so that no memory grows with T x T. LibTorch; included by .cc files of tensor/ only.
/// Throws what LibTorch throws.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace swarm::tensor {

/// Queries that a block has. Fewer are no quicker, more compute more of the future (docs/performance.md,
/// "Attention in blocks").
constexpr int64_t kQueriesOfBlock = 128;

class CausalAttention {
 public:
  /// `parts`: queries, keys and values, [3, G, T, d] contiguous, G heads of all samples; float32 or
  /// bfloat16. Returns what each query sees of the values up to its own place, [G, T, d] of that type.
  torch::Tensor operator()(const torch::Tensor& parts);

 private:
  const torch::Tensor& future(int64_t sequence, torch::Device device);

  torch::Tensor
      future_;  // float32 [T, T] of a short sequence: 0 on and below the diagonal, else -inf
};

/// The same, whatever T is. Its graph keeps `parts` alone: a backward makes the
/// weights again, block by block. A block is `queries` of some heads against all keys up to the last
/// one's place: its rows of weights are whole, so that softmax needs no second look at them.
torch::Tensor attention_in_blocks(const torch::Tensor& parts, int64_t queries = kQueriesOfBlock);

}  // namespace swarm::tensor
