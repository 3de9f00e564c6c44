#include "tensor/torch/attention.h"

#include <torch/torch.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/core/block_sizes.h"
#include "tests/tensor/torch/torch_memory.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;

/// In doubles, by the formula.
Tensor by_formula(const Tensor& parts) {
  const int64_t sequence = parts.size(2);
  const Tensor scores =
      parts[0].matmul(parts[1].transpose(1, 2)) / std::sqrt(static_cast<double>(parts.size(3)));
  const Tensor future = torch::ones({sequence, sequence}, torch::kBool).triu(1);
  return scores.masked_fill(future, -std::numeric_limits<double>::infinity())
      .softmax(-1)
      .matmul(parts[2]);
}

Tensor some(at::IntArrayRef shape, uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return torch::randn(shape, generator);
}

/// Largest difference, relative to the largest element.
double away(const Tensor& expected, const Tensor& found) {
  const Tensor other = found.to(torch::kDouble);
  return ((expected - other).abs().max() / expected.abs().max()).item<double>();
}

/// Values and gradients of `attention` against the formula, for numbers that `type` has.
template <class F>
void equals_the_formula(F attention, int64_t heads, int64_t sequence, int64_t depth,
                        torch::ScalarType type, double tolerance) {
  Tensor parts = some({3, heads, sequence, depth}, 1).to(type).requires_grad_();
  const Tensor seed = some({heads, sequence, depth}, 2).to(type);
  Tensor exact = parts.detach().to(torch::kDouble).requires_grad_();
  const Tensor expected = by_formula(exact);
  const Tensor found = attention(parts);
  BOOST_TEST((found.scalar_type() == type));
  BOOST_TEST(away(expected, found) < tolerance);
  const auto expected_gradient =
      torch::autograd::grad({expected}, {exact}, {seed.to(torch::kDouble)});
  const auto gradient = torch::autograd::grad({found}, {parts}, {seed});
  BOOST_TEST((gradient[0].scalar_type() == type));
  for (int64_t part = 0; part < 3; ++part)  // a query that sees one place has no gradient
    if (sequence > 1 || part == 2)
      BOOST_TEST(away(expected_gradient[0][part], gradient[0][part]) < tolerance);
}

// Sums of up to 300 products in float32; in bf16 each number is rounded to 2^-9 of itself, some
// five times on its way.
constexpr double kTolerance = 1e-5, kTolerance16 = 4e-2;

}  // namespace

BOOST_AUTO_TEST_SUITE(Attention)

BOOST_AUTO_TEST_CASE(in_blocks_it_equals_the_formula_for_odd_sizes) {
  struct Size {
    int64_t heads, sequence, depth, queries;
  };
  for (const Size& size :
       {Size{1, 1, 4, 64}, Size{1, 5, 3, 2}, Size{2, 64, 8, 64}, Size{3, 65, 8, 64},
        Size{1, 130, 16, 64}, Size{5, 97, 7, 1}, Size{2, 300, 8, 128}, Size{4, 60, 8, 128}}) {
    const auto attention = [&](const Tensor& x) { return attention_in_blocks(x, size.queries); };
    BOOST_TEST_CONTEXT(size.heads << " heads, " << size.sequence << " tokens, by "
                                  << size.queries) {
      equals_the_formula(attention, size.heads, size.sequence, size.depth, torch::kFloat32,
                         kTolerance);
      equals_the_formula(attention, size.heads, size.sequence, size.depth, torch::kBFloat16,
                         kTolerance16);
    }
  }
}

// More heads than have room in a block of weights at a time.
BOOST_AUTO_TEST_CASE(heads_that_take_turns_are_all_computed) {
  const auto attention = [](const Tensor& x) { return attention_in_blocks(x); };
  equals_the_formula(attention, 37, 700, 4, torch::kFloat32, kTolerance);
}

BOOST_AUTO_TEST_CASE(short_and_long_sequences_equal_the_formula_by_whatever_way) {
  CausalAttention attention;
  for (int64_t sequence :
       {int64_t{1}, int64_t{12}, kWholeAttention, kWholeAttention + 1, 2 * kWholeAttention + 3})
    BOOST_TEST_CONTEXT(sequence << " tokens") {
      equals_the_formula(attention, 3, sequence, 8, torch::kFloat32, kTolerance);
      equals_the_formula(attention, 3, sequence, 8, torch::kBFloat16, kTolerance16);
    }
}

BOOST_AUTO_TEST_CASE(the_same_input_gives_the_same_bits) {
  Tensor parts = some({3, 4, 150, 8}, 3).requires_grad_();
  const Tensor seed = some({4, 150, 8}, 4);
  const Tensor once = attention_in_blocks(parts), again = attention_in_blocks(parts);
  BOOST_TEST(torch::equal(once, again));
  BOOST_TEST(torch::equal(torch::autograd::grad({once}, {parts}, {seed})[0],
                          torch::autograd::grad({again}, {parts}, {seed})[0]));
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_seen_from_its_place_on) {
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (int64_t part = 0; part < 3; ++part) {
      Tensor parts = some({3, 2, 100, 4}, 5);
      parts[part][1][70][2] = bad;
      const Tensor finite = attention_in_blocks(parts, 16).isfinite();
      BOOST_TEST(finite[0].all().item<bool>());
      BOOST_TEST(finite[1].narrow(0, 0, 64).all().item<bool>());  // the blocks before
      // An infinite key is as good as none to queries that point the other way.
      BOOST_TEST(!finite[1].narrow(0, 70, 30).all().item<bool>());
    }
}

BOOST_AUTO_TEST_CASE(no_memory_grows_with_the_square_of_the_sequence) {
  const int64_t heads = 2, depth = 4, sequence = 2048;
  const int64_t square = heads * sequence * sequence * int64_t{sizeof(float)};  // 32 MiB
  Tensor parts = some({3, heads, sequence, depth}, 6).requires_grad_();
  const Tensor seed = some({heads, sequence, depth}, 7);
  CausalAttention attention;
  TorchMemory memory;
  Tensor out = attention(parts);
  BOOST_TEST(memory.grown() <= 2 * out.numel() * int64_t{sizeof(float)});
  BOOST_TEST(memory.most() < square / 2);
  memory.reset();
  const auto gradient = torch::autograd::grad({out}, {parts}, {seed});
  BOOST_TEST(memory.most() < square / 2);
  memory.reset();
  const Tensor plain = torch::zeros({1 << 10});  // what is counted is what was taken
  BOOST_TEST(memory.grown() >= (1 << 10) * int64_t{sizeof(float)});
  BOOST_TEST(memory.grown() < (1 << 10) * int64_t{sizeof(float)} + 256);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
