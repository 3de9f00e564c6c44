#include "tensor/torch/block_loss.h"

#include <torch/torch.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tensor/core/block_sizes.h"
#include "tests/tensor/torch/torch_memory.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;
using Weights = std::vector<Tensor>;

/// A head and its norm behind a weight that has no part in it.
class HeadAlone final : public Model {
 public:
  Tensor blocks(const Weights&, const Tensor& input, int64_t, int64_t) override { return input; }
  Tensor logits(const Weights& weights, const Tensor& x) const override {
    const Tensor h = torch::layer_norm(x, {x.size(1)}, weights[1], {}, 1e-5);
    return h.to(weights[2].scalar_type()).mm(weights[2].t()).to(torch::kFloat32);
  }
};

struct Case {
  Case(int64_t tokens, int64_t width, int64_t vocabulary, torch::ScalarType type) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{9});
    rows = torch::randn({tokens, width}, generator);
    targets = torch::randint(vocabulary, {tokens}, generator, torch::kInt64);
    weights = {torch::ones({3}), torch::rand({width}, generator) + 0.5,
               torch::randn({vocabulary, width}, generator).to(type)};
    for (Tensor& weight : weights) weight.requires_grad_();
  }

  double in_blocks(int64_t block, LossGradients* out) const {
    return loss_in_blocks(HeadAlone(), weights, rows, targets, 7, block, out);
  }
  /// Loss and gradients by rows, norm and head, of all tokens at once.
  std::vector<Tensor> at_once() const {
    const Tensor leaf = rows.detach().requires_grad_();
    const Tensor loss = torch::cross_entropy_loss(HeadAlone().logits(weights, leaf), targets, {},
                                                  at::Reduction::Sum) /
                        7.0;
    auto found = torch::autograd::grad({loss}, {leaf, weights[1], weights[2]});
    found.push_back(loss.detach());
    return found;
  }

  Tensor rows, targets;
  Weights weights;
};

double away(const Tensor& expected, const Tensor& found) {
  const Tensor a = expected.to(torch::kDouble), b = found.to(torch::kDouble);
  return ((a - b).abs().max() / a.abs().max()).item<double>();
}

void equals_all_at_once(const Case& of, int64_t block, double tolerance) {
  const std::vector<Tensor> expected = of.at_once();
  WeightGradients sums(of.weights.size());
  LossGradients found{{}, &sums};
  const double loss = of.in_blocks(block, &found);
  BOOST_TEST(loss == expected[3].item<double>(), boost::test_tools::tolerance(1e-6));
  BOOST_TEST(away(expected[0], found.by_rows) < tolerance);
  BOOST_TEST(!sums.sums()[0].defined());
  BOOST_TEST(away(expected[1], sums.sums()[1]) < tolerance);
  BOOST_TEST(away(expected[2], sums.sums()[2]) < tolerance);
  BOOST_TEST(of.in_blocks(block, nullptr) == loss);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(BlockLoss)

BOOST_AUTO_TEST_CASE(loss_and_gradients_equal_those_of_all_tokens_at_once) {
  for (int64_t tokens : {1, 2, 21})
    for (int64_t block : {1, 2, 5, 20, 21, 1000})
      BOOST_TEST_CONTEXT(tokens << " tokens, by " << block) {
        equals_all_at_once({tokens, 6, 301, torch::kFloat32}, block, 1e-5);
        // In bf16 gradients are rounded to 2^-9 block by block here, and once there.
        equals_all_at_once({tokens, 6, 301, torch::kBFloat16}, block, 2e-2);
      }
}

BOOST_AUTO_TEST_CASE(gradients_by_the_rows_alone_are_found_too) {
  const Case of(21, 6, 301, torch::kFloat32);
  LossGradients found;
  of.in_blocks(4, &found);
  BOOST_TEST(away(of.at_once()[0], found.by_rows) < 1e-5);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_is_none_whatever_block_it_is_in) {
  for (int64_t row : {0, 9, 20}) {
    Case of(21, 6, 301, torch::kFloat32);
    of.rows[row][3] = NAN;
    WeightGradients sums(of.weights.size());
    LossGradients found{{}, &sums};
    BOOST_TEST(!std::isfinite(of.in_blocks(4, &found)));
    BOOST_TEST(!std::isfinite(of.in_blocks(4, nullptr)));
  }
}

BOOST_AUTO_TEST_CASE(a_block_has_room_for_one_token_or_more) {
  BOOST_TEST(rows_of_block(24064) == 348);
  BOOST_TEST(rows_of_block(256) == 32768);
  BOOST_TEST(rows_of_block(int64_t{1} << 40) == 1);
}

BOOST_AUTO_TEST_CASE(logits_of_a_block_are_there_at_a_time) {
  const Case of(2048, 4, 1024, torch::kFloat32);
  const int64_t logits = 2048 * 1024 * int64_t{sizeof(float)};
  WeightGradients sums(of.weights.size());
  LossGradients found{{}, &sums};
  TorchMemory memory;
  of.in_blocks(2048, nullptr);
  BOOST_TEST(memory.most() > logits);
  memory.reset();
  of.in_blocks(64, nullptr);
  BOOST_TEST(memory.most() < logits / 8);
  of.in_blocks(64, &found);
  BOOST_TEST(memory.most() < logits / 4);
  memory.reset();
  const double loss = of.in_blocks(64, nullptr);
  BOOST_TEST(std::isfinite(loss));
  BOOST_TEST(memory.grown() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
