#include "tensor/torch/attention.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/core/block_sizes.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Weights of a block, of as many heads as have room [numbers]: 4 MiB, which caches hold.
constexpr int64_t kWeightsOfBlock = 1 << 20;

double scale_of(const Tensor& parts) { return 1 / std::sqrt(static_cast<double>(parts.size(3))); }

Tensor future_of(int64_t sequence, torch::Device device) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  return torch::full({sequence, sequence}, kNever, device).triu(1);
}

/// Queries, keys and values of some heads, [g, T, d] of the type that is computed with.
struct Heads {
  Heads(const Tensor& parts, int64_t first, int64_t count)
      : scale(scale_of(parts)),
        queries(parts[0].narrow(0, first, count)),
        keys(parts[1].narrow(0, first, count)),
        values(parts[2].narrow(0, first, count)) {}

  /// Weights float32 [g, rows, end] of the queries [end - rows, end).
  Tensor weights(int64_t rows, int64_t end, const Tensor& future) const {
    const int64_t begin = end - rows;
    const Tensor products = queries.narrow(1, begin, rows).bmm(keys.narrow(1, 0, end).mT());
    Tensor scores = products.to(torch::kFloat32).mul_(scale);
    scores.narrow(2, begin, rows).add_(future.narrow(0, 0, rows).narrow(1, 0, rows));
    return scores.softmax(-1);
  }

  const double scale;
  const Tensor queries, keys, values;
};

/// Calls heads(first, count) for all heads, as many at a time as a block of `queries` has room for.
template <class F>
void for_heads(const Tensor& parts, int64_t queries, F heads) {
  const int64_t all = parts.size(1), longest = parts.size(2);
  const int64_t each = std::min(queries, longest) * longest;
  const int64_t most = std::clamp<int64_t>(kWeightsOfBlock / each, 1, all);
  for (int64_t first = 0; first < all; first += most) heads(first, std::min(most, all - first));
}

/// Calls block(rows, end) for queries [end - rows, end) until all are done.
template <class F>
void for_queries(const Tensor& parts, int64_t queries, F block) {
  const int64_t sequence = parts.size(2);
  for (int64_t begin = 0; begin < sequence; begin += queries) {
    const int64_t end = std::min(sequence, begin + queries);
    block(end - begin, end);
  }
}

struct InBlocks : torch::autograd::Function<InBlocks> {
  static Tensor forward(AutogradContext* context, const Tensor& parts, int64_t queries) {
    context->save_for_backward({parts});
    context->saved_data["queries"] = queries;
    Tensor out = torch::empty_like(parts.select(0, 0), at::MemoryFormat::Contiguous);
    const Tensor future = future_of(std::min(queries, parts.size(2)), parts.device());
    for_heads(parts, queries, [&](int64_t first, int64_t count) {
      const Heads heads(parts, first, count);
      Tensor to = out.narrow(0, first, count);
      for_queries(parts, queries, [&](int64_t rows, int64_t end) {
        const Tensor weights = heads.weights(rows, end, future);
        const Tensor seen = weights.to(parts.scalar_type()).bmm(heads.values.narrow(1, 0, end));
        to.narrow(1, end - rows, rows).copy_(seen);
      });
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor parts = context->get_saved_variables()[0];
    const int64_t queries = context->saved_data["queries"].toInt();
    Tensor out = torch::empty_like(parts);
    const Tensor future = future_of(std::min(queries, parts.size(2)), parts.device());
    for_heads(parts, queries, [&](int64_t first, int64_t count) {
      const Heads heads(parts, first, count);
      const Tensor gradient = gradients[0].narrow(0, first, count);
      Tensor sums = torch::zeros({3, count, parts.size(2), parts.size(3)}, future.options());
      for_queries(parts, queries, [&](int64_t rows, int64_t end) {
        add_block(heads, gradient.narrow(1, end - rows, rows), heads.weights(rows, end, future),
                  sums);
      });
      out.narrow(1, first, count).copy_(sums);
    });
    return {out, Tensor()};
  }

  /// `gradient` [g, rows, d] by what the block's queries saw; `weights` [g, rows, end].
  static void add_block(const Heads& heads, const Tensor& gradient, const Tensor& weights,
                        Tensor& sums) {
    const int64_t rows = weights.size(1), end = weights.size(2), begin = end - rows;
    const auto type = heads.keys.scalar_type();
    sums[2].narrow(1, 0, end).add_(weights.mT().to(type).bmm(gradient));
    const Tensor by_weights = gradient.bmm(heads.values.narrow(1, 0, end).mT());
    const Tensor by_scores =
        at::_softmax_backward_data(by_weights.to(torch::kFloat32), weights, -1, torch::kFloat32)
            .mul_(heads.scale)
            .to(type);
    sums[0].narrow(1, begin, rows).copy_(by_scores.bmm(heads.keys.narrow(1, 0, end)));
    sums[1].narrow(1, 0, end).add_(by_scores.mT().bmm(heads.queries.narrow(1, begin, rows)));
  }
};

/// With the [T, T] matrix of each head's weights, which the graph keeps.
Tensor whole(const Tensor& parts, const Tensor& future) {
  const Tensor query = parts.select(0, 0), key = parts.select(0, 1), value = parts.select(0, 2);
  const double scale = scale_of(parts);
  if (parts.scalar_type() == torch::kFloat32)
    return torch::baddbmm(future, query, key.transpose(1, 2), 1, scale).softmax(-1).bmm(value);
  const Tensor scores = query.bmm(key.transpose(1, 2)).to(torch::kFloat32);
  return (scores * scale + future).softmax(-1).to(parts.scalar_type()).bmm(value);
}

}  // namespace

Tensor attention_in_blocks(const Tensor& parts, int64_t queries) {
  return InBlocks::apply(parts, queries);
}

const Tensor& CausalAttention::future(int64_t sequence, torch::Device device) {
  if (!future_.defined() || future_.size(0) != sequence) future_ = future_of(sequence, device);
  return future_;
}

Tensor CausalAttention::operator()(const Tensor& parts) {
  const int64_t sequence = parts.size(2);
  if (sequence <= kWholeAttention) return whole(parts, future(sequence, parts.device()));
#if TORCH_VERSION_MAJOR >= 2
  const auto part = [&](int64_t which) { return parts.select(0, which).unsqueeze(0); };
  return at::scaled_dot_product_attention(part(0), part(1), part(2), {}, 0.0, /*is_causal=*/true)
      .squeeze(0);
#else
  return attention_in_blocks(parts);
#endif
}

}  // namespace swarm::tensor
