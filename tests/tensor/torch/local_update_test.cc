// Asynchronous training in a stage: updates between forward and backward, weight stashing,
// averaging. The oracle is plain LibTorch autograd in double over weights given as arguments.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/core/flat.h"
#include "tensor/core/state_format.h"
#include "tests/tensor/torch/stage_fixture.h"

namespace swarm::tensor {
namespace {

using torch::Tensor;
using Weights = std::map<std::string, Tensor>;  // by name within the stage, double, leaves

Weights weights_of(const ModelStage& stage, const Buffer& flat) {
  Weights out;
  const std::vector<float> values = floats(flat);
  for (const ParameterInfo& info : stage.layout()) {
    auto* data = const_cast<float*>(values.data() + info.offset);
    out[info.name] = torch::from_blob(data, info.shape).to(torch::kDouble).clone().requires_grad_();
  }
  return out;
}

Tensor norm(const Weights& w, const std::string& name, const Tensor& x) {
  return torch::layer_norm(x, {x.size(-1)}, w.at(name + ".weight"), w.at(name + ".bias"), 1e-5);
}
Tensor linear(const Weights& w, const std::string& name, const Tensor& x) {
  return torch::matmul(x, w.at(name + ".weight").t()) + w.at(name + ".bias");
}

/// x: double [B, T, D] -> [B, T, D].
Tensor block(const Weights& w, const std::string& name, Tensor x) {
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2), heads = tiny_model().heads;
  auto parts = linear(w, name + "attention.qkv", norm(w, name + "norm1", x)).chunk(3, -1);
  for (Tensor& part : parts) part = part.view({batch, time, heads, -1}).transpose(1, 2);
  Tensor scores = torch::matmul(parts[0], parts[1].transpose(-1, -2)) /
                  std::sqrt(static_cast<double>(width / heads));
  const Tensor future = torch::ones({time, time}, torch::kBool).triu(1);
  Tensor mixed = torch::matmul(torch::softmax(scores.masked_fill(future, -INFINITY), -1), parts[2]);
  x = x + linear(w, name + "attention.out", mixed.transpose(1, 2).reshape({batch, time, width}));
  Tensor h = torch::gelu(linear(w, name + "mlp.up", norm(w, name + "norm2", x)));
  return x + linear(w, name + "mlp.down", h);
}

Tensor blocks(const Weights& w, Tensor x) {
  for (int i = 0; w.count("blocks." + std::to_string(i) + ".norm1.weight") != 0; ++i)
    x = block(w, "blocks." + std::to_string(i) + ".", x);
  return x;
}

Tensor window(const StageInput& input) {
  auto* data = const_cast<uint8_t*>(input.tokens.data());
  return torch::from_blob(data, {input.samples, input.sequence + 1}, torch::kInt32)
      .to(torch::kLong);
}

/// Of two stages: the first, and the last with the loss sum over samples.
Tensor first_stage(const Weights& w, const StageInput& input) {
  const Tensor tokens = window(input).narrow(1, 0, input.sequence);
  return blocks(w, torch::embedding(w.at("embedding.tokens"), tokens) +
                       w.at("embedding.positions").narrow(0, 0, input.sequence));
}
Tensor loss(const Weights& w, const Tensor& x, const StageInput& input) {
  const Tensor logits = torch::matmul(norm(w, "head.norm", blocks(w, x)), w.at("head.weight").t());
  const Tensor targets = window(input).narrow(1, 1, input.sequence).reshape({-1});
  return torch::nll_loss(torch::log_softmax(logits.flatten(0, 1), -1), targets, {},
                         at::Reduction::Sum) /
         static_cast<double>(input.sequence);
}

/// d(end . seed) / d(weights), flat in the order of the stage's layout.
std::vector<double> gradient(const ModelStage& stage, const Tensor& end, const Weights& w,
                             const Tensor& seed = {}) {
  std::vector<Tensor> leaves, seeds;
  for (const ParameterInfo& info : stage.layout()) leaves.push_back(w.at(info.name));
  if (seed.defined()) seeds.push_back(seed);
  std::vector<double> out;
  for (const Tensor& g : torch::autograd::grad({end}, leaves, seeds)) {
    const Tensor flat = g.contiguous();
    out.insert(out.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return out;
}

/// |a - b| / |b|
double difference(const std::vector<float>& a, const std::vector<double>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double apart = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    apart += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(apart / size);
}

// Float32 against double: some 1e-6 of the gradient. Weights one update away: some 1e-2.
constexpr double kTolerance = 1e-5;

StageOptions async_options(OptimizerKind kind = OptimizerKind::kNag) {
  StageOptions options = stage_options(0, 2);
  options.optimizer.kind = kind;
  options.optimizer.learning_rate = 0.01;
  options.optimizer.warmup_steps = 3;
  if (kind == OptimizerKind::kNag) {
    options.optimizer.beta1 = 0.99;
    options.optimizer.beta2 = 0.999;
  }
  return options;
}

MicrobatchKey key(uint32_t slot) { return {{}, Slot(slot), {}}; }

EncodedTensor forward(ModelStage& stage, uint32_t slot) {
  auto out = stage.forward(key(slot), some_input(slot), false);
  require_ok(out);
  return *out;
}

/// The microbatch's visit at the last stage, without an update; the gradient of its input.
EncodedTensor visit_last(ModelStage& stage, uint32_t slot, const EncodedTensor& activations) {
  StageInput input = some_input(slot);
  input.activations = activations;
  auto result = stage.forward_backward(key(slot), input, true, false);
  require_ok(result);
  return result->gradient;
}

void update(ModelStage& stage, uint64_t samples = kSamples) {
  auto done = stage.apply_local(samples, 2);
  require_ok(done);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LocalUpdates)

BOOST_AUTO_TEST_CASE(one_peer_and_one_microbatch_equal_a_synchronous_step_bit_for_bit) {
  for (OptimizerKind kind : {OptimizerKind::kAdamw, OptimizerKind::kNag}) {
    for (double clip_norm : {0.0, 0.05, 1e6}) {  // off, active, idle
      StageOptions options = async_options(kind);
      options.num_stages = 1;
      options.optimizer.clip_norm = clip_norm;
      Stages sync = pipeline(options), local = pipeline(options);
      for (uint64_t step = 0; step < 6; ++step) {
        const auto slot = static_cast<uint32_t>(step);
        for (auto* stages : {&sync, &local})
          BOOST_REQUIRE(
              (*stages)[0]->forward_backward(key(slot), some_input(slot), true, false).ok());
        // What a round of averaging and the coordinator do with one peer.
        std::vector<float> mean = floats(sync[0]->gradient_sum());
        scale(mean.data(), mean.size(), static_cast<float>(1.0 / kSamples));
        const double norm = std::sqrt(squared_norm(mean.data(), mean.size()));
        BOOST_REQUIRE(sync[0]->apply(bytes(mean), clip_scale(options.optimizer, norm)).ok());
        auto done = local[0]->apply_local(kSamples, step);
        require_ok(done);
        BOOST_TEST(done->updates == step + 1);
        BOOST_TEST(done->gradient_norm == norm);
        BOOST_TEST((done->clip_scale < 1) == (clip_norm == 0.05));
        BOOST_TEST(local[0]->step() == step);
        BOOST_REQUIRE(local[0]->set_step(step + 1).ok());
        BOOST_TEST((local[0]->save_state().view() == sync[0]->save_state().view()));
        for (float g : floats(local[0]->gradient_sum())) BOOST_REQUIRE(g == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(with_keep_a_backward_uses_the_weights_of_its_forward) {
  Stages stages = pipeline(async_options());
  ModelStage &first = *stages[0], &last = *stages[1];
  const EncodedTensor activations[2] = {forward(first, 0), forward(first, 1)};
  const Weights old = weights_of(first, first.parameters());
  BOOST_REQUIRE(first.backward(key(0), visit_last(last, 0, activations[0]), true).ok());
  update(first);
  update(last);
  const Weights now = weights_of(first, first.parameters());
  const Weights head = weights_of(last, last.parameters());
  const EncodedTensor gradient_in = visit_last(last, 1, activations[1]);
  const StageInput input = some_input(1);
  const Tensor whole = loss(head, first_stage(old, input), input);
  BOOST_TEST(difference(floats(last.gradient_sum()), gradient(last, whole, head)) < kTolerance);
  BOOST_REQUIRE(first.backward(key(1), gradient_in, true).ok());
  const std::vector<float> found = floats(first.gradient_sum());
  BOOST_TEST(difference(found, gradient(first, loss(head, first_stage(old, input), input), old)) <
             kTolerance);
  const Tensor other = loss(head, first_stage(now, input), input);
  BOOST_TEST(difference(found, gradient(first, other, now)) > 100 * kTolerance);
  update(first);  // the old weights' gradient changes today's
  BOOST_TEST(first.updates() == 2u);
}

BOOST_AUTO_TEST_CASE(with_recompute_a_backward_uses_todays_weights) {
  StageOptions options = async_options();
  options.backward = BackwardPolicy::kRecompute;
  Stages stages = pipeline(options);
  ModelStage &first = *stages[0], &last = *stages[1];
  const EncodedTensor activations[2] = {forward(first, 0), forward(first, 1)};
  const Weights old = weights_of(first, first.parameters());
  BOOST_REQUIRE(first.backward(key(0), visit_last(last, 0, activations[0]), true).ok());
  update(first);
  BOOST_TEST(first.versions() == 1u);
  const Weights now = weights_of(first, first.parameters());
  const EncodedTensor gradient_in = visit_last(last, 1, activations[1]);
  const std::vector<float> seed = floats(gradient_in.data);
  const Tensor seeds =
      torch::from_blob(const_cast<float*>(seed.data()), {kSamples, kSequence, tiny_model().width})
          .to(torch::kDouble);
  BOOST_REQUIRE(first.backward(key(1), gradient_in, true).ok());
  const std::vector<float> found = floats(first.gradient_sum());
  const StageInput input = some_input(1);
  BOOST_TEST(difference(found, gradient(first, first_stage(now, input), now, seeds)) < kTolerance);
  BOOST_TEST(difference(found, gradient(first, first_stage(old, input), old, seeds)) >
             100 * kTolerance);
}

// Whatever happens in between (updates, averages, all in bf16 too), a kept graph gives the bits
// that it would have given at once.
BOOST_AUTO_TEST_CASE(a_kept_graph_gives_the_same_bits_however_much_later) {
  for (ComputeType compute : {ComputeType::kFp32, ComputeType::kBf16}) {
    StageOptions options = async_options();
    options.compute = compute;
    Stages early = pipeline(options), late = pipeline(options);
    EncodedTensor gradients[3];
    for (uint32_t slot = 0; slot < 3; ++slot) {
      gradients[slot] = visit_last(*early[1], slot, forward(*early[0], slot));
      forward(*late[0], slot);
    }
    BOOST_REQUIRE(early[0]->backward(key(2), gradients[2], true).ok());
    ModelStage& stage = *late[0];
    BOOST_REQUIRE(stage.backward(key(0), gradients[0], true).ok());
    update(stage);
    auto sent = stage.to_average(AveragedPart::kWeights);
    std::vector<float> average = floats(*sent);
    for (float& x : average) x += 0.25f;
    BOOST_REQUIRE(stage.take_average(AveragedPart::kWeights, bytes(average), *sent).ok());
    BOOST_REQUIRE(stage.backward(key(1), gradients[1], true).ok());
    update(stage);
    BOOST_REQUIRE(stage.backward(key(2), gradients[2], true).ok());
    BOOST_TEST((stage.gradient_sum().view() == early[0]->gradient_sum().view()));
    BOOST_TEST(stage.checksum() != early[0]->checksum());
  }
}

BOOST_AUTO_TEST_CASE(after_an_update_a_forward_computes_with_the_new_weights) {
  for (ComputeType compute : {ComputeType::kFp32, ComputeType::kBf16}) {
    StageOptions options = async_options();
    options.compute = compute;
    Stages stages = pipeline(options), fresh = pipeline(options);
    const EncodedTensor before = forward(*stages[0], 0);
    const EncodedTensor gradient = visit_last(*stages[1], 0, before);
    BOOST_REQUIRE(stages[0]->backward(key(0), gradient, true).ok());
    update(*stages[0]);
    BOOST_REQUIRE(fresh[0]->load_state(stages[0]->save_state()).ok());
    const EncodedTensor after = forward(*stages[0], 0), expected = forward(*fresh[0], 0);
    BOOST_TEST((after.data.view() == expected.data.view()));
    BOOST_TEST((after.data.view() != before.data.view()));
  }
}

BOOST_AUTO_TEST_CASE(no_more_versions_live_than_microbatches_are_kept) {
  Stages stages = pipeline(async_options());
  ModelStage &first = *stages[0], &last = *stages[1];
  std::vector<EncodedTensor> gradients;
  for (uint32_t slot = 0; slot < 4; ++slot)  // without an update they share one version
    gradients.push_back(visit_last(last, slot, forward(first, slot)));
  BOOST_TEST(first.versions() == 1u);
  for (uint32_t round = 0; round < 20; ++round) {
    BOOST_REQUIRE(first.backward(key(round), gradients[round % 4], true).ok());
    BOOST_TEST(*first.updates_at_forward(key(round + 1)) <= first.updates());
    update(first);
    forward(first, round + 4);
    BOOST_TEST(*first.updates_at_forward(key(round + 4)) == round + 1);
    BOOST_TEST(first.kept() == 4u);
    BOOST_TEST(first.versions() == std::min<size_t>(round + 2, 4));
  }
  BOOST_TEST(!first.updates_at_forward(key(1)).has_value());
  for (uint32_t slot = 20; slot < 24; ++slot) first.drop(key(slot));
  BOOST_TEST(first.versions() == 1u);
  const void* place = first.to_average(AveragedPart::kWeights)->data();
  BOOST_REQUIRE(last.kept() == 0);
  forward(first, 99);
  BOOST_REQUIRE(first.backward(key(99), gradients[0], true).ok());
  update(first);  // nobody holds the weights: in place
  BOOST_TEST(first.to_average(AveragedPart::kWeights)->data() == place);
}

BOOST_AUTO_TEST_CASE(microbatches_add_up_to_one_update_and_a_synchronous_one_forgets_the_kept) {
  StageOptions options = async_options(OptimizerKind::kAdamw);
  Stages one = pipeline(options), two = pipeline(options);
  for (Stages* stages : {&one, &two}) {
    for (uint32_t slot = 0; slot < 3; ++slot) {
      const auto g = visit_last(*(*stages)[1], slot, forward(*(*stages)[0], slot));
      if (slot < 2) BOOST_REQUIRE((*stages)[0]->backward(key(slot), g, true).ok());
    }
  }
  std::vector<float> mean = floats(one[0]->gradient_sum());
  scale(mean.data(), mean.size(), static_cast<float>(1.0 / (2 * kSamples)));
  const double norm = std::sqrt(squared_norm(mean.data(), mean.size()));
  update(*two[0], 2 * kSamples);
  BOOST_TEST(two[0]->kept() == 1u);
  BOOST_REQUIRE(one[0]->set_step(2).ok());
  BOOST_REQUIRE(one[0]->apply(bytes(mean), clip_scale(options.optimizer, norm)).ok());
  BOOST_TEST(one[0]->kept() == 0u);
  BOOST_TEST(one[0]->checksum() == two[0]->checksum());
}

BOOST_AUTO_TEST_CASE(an_update_from_nothing_or_from_infinity_is_refused) {
  Stages stages = pipeline(async_options());
  ModelStage& first = *stages[0];
  const EncodedTensor gradient = visit_last(*stages[1], 0, forward(first, 0));
  BOOST_REQUIRE(first.backward(key(0), gradient, true).ok());
  const std::string before(first.save_state().view());
  BOOST_TEST((first.apply_local(0, 0).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST((first.set_step(UINT64_MAX).code() == ErrorCode::kInvalidArgument));
  float largest = 0;
  for (float g : floats(first.gradient_sum())) largest = std::max(largest, std::abs(g));
  first.clear_gradients();
  EncodedTensor huge = gradient;  // each of 40 gradients is finite, their sum is not
  std::vector<float> values = floats(gradient.data);
  scale(values.data(), values.size(), 1e37f / largest);
  huge.data = bytes(values);
  for (uint32_t slot = 0; slot < 40; ++slot) {
    BOOST_REQUIRE(first.forward(key(slot), some_input(0), false).ok());
    auto back = first.backward(key(slot), huge, true);
    require_ok(back);
  }
  BOOST_TEST((first.apply_local(kSamples, 0).code() == ErrorCode::kNonFinite));
  BOOST_TEST((first.save_state().view() == before));
  for (float g : floats(first.gradient_sum())) BOOST_REQUIRE(g == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(AveragingOfStates)

BOOST_AUTO_TEST_CASE(
    a_blocking_round_makes_replicas_equal_and_a_background_one_adds_the_difference) {
  Stages a = pipeline(async_options()), b = pipeline(async_options());
  auto train = [](Stages& stages, uint32_t slot) {
    const auto g = visit_last(*stages[1], slot, forward(*stages[0], slot));
    BOOST_REQUIRE(stages[0]->backward(key(slot), g, true).ok());
    update(*stages[0]);
  };
  train(a, 1);
  train(b, 2);
  for (AveragedPart part : {AveragedPart::kWeights, AveragedPart::kWeightsAndMoments}) {
    auto from_a = a[0]->to_average(part), from_b = b[0]->to_average(part);
    require_ok(from_a);
    require_ok(from_b);
    std::vector<float> mean = floats(*from_a), other = floats(*from_b);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
    const std::vector<float> sent = floats(*from_b);
    BOOST_REQUIRE(a[0]->take_average(part, bytes(mean), *from_a).ok());
    BOOST_TEST((floats(*a[0]->to_average(part)) == mean));
    train(b, 3);
    BOOST_TEST((floats(*from_b) == sent));  // what was sent does not move
    const std::vector<float> now = floats(*b[0]->to_average(part));
    BOOST_REQUIRE(now != sent);
    std::vector<float> expected(now.size());
    add_difference(now.data(), mean.data(), sent.data(), expected.data(), now.size());
    const size_t n = a[0]->num_parameters();
    for (size_t i = 2 * n; i < expected.size(); ++i) expected[i] = std::max(expected[i], 0.0f);
    BOOST_REQUIRE(b[0]->take_average(part, bytes(mean), *from_b).ok());
    BOOST_TEST((floats(*b[0]->to_average(part)) == expected));
  }
  BOOST_TEST(a[0]->updates() == 1u);  // counters stay a peer's own
  BOOST_TEST(b[0]->updates() == 3u);
}

BOOST_AUTO_TEST_CASE(replicas_have_the_checksum_of_what_they_averaged_in_common) {
  const auto part = AveragedPart::kWeightsAndMoments;
  Stages a = pipeline(async_options()), b = pipeline(async_options());
  for (uint32_t slot : {1, 2, 3}) {
    Stages& stages = slot == 1 ? a : b;
    const auto g = visit_last(*stages[1], slot, forward(*stages[0], slot));
    BOOST_REQUIRE(stages[0]->backward(key(slot), g, true).ok());
    update(*stages[0]);
  }
  BOOST_TEST(a[0]->averaged_checksum(part) != b[0]->averaged_checksum(part));
  auto from_a = a[0]->to_average(part), from_b = b[0]->to_average(part);
  require_ok(from_a);
  require_ok(from_b);
  std::vector<float> mean = floats(*from_a), other = floats(*from_b);
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
  BOOST_REQUIRE(a[0]->take_average(part, bytes(mean), *from_a).ok());
  BOOST_REQUIRE(b[0]->take_average(part, bytes(mean), *from_b).ok());
  BOOST_TEST(a[0]->averaged_checksum(part) == b[0]->averaged_checksum(part));
  BOOST_TEST(a[0]->state_checksum() != b[0]->state_checksum());  // counters are a peer's own
}

BOOST_AUTO_TEST_CASE(second_moments_never_fall_below_zero) {
  Stages stages = pipeline(async_options());
  const size_t n = stages[0]->num_parameters();
  std::vector<float> sent(3 * n, 1.0f), average(3 * n, 0.5f);
  BOOST_REQUIRE(
      stages[0]->take_average(AveragedPart::kWeightsAndMoments, bytes(average), bytes(sent)).ok());
  const auto now = floats(*stages[0]->to_average(AveragedPart::kWeightsAndMoments));
  BOOST_TEST(now[n] == -0.5f);
  BOOST_TEST(now[2 * n] == 0.0f);
  BOOST_TEST(now.back() == 0.0f);
}

BOOST_AUTO_TEST_CASE(an_average_that_does_not_fit_changes_nothing) {
  Stages stages = pipeline(async_options());
  const std::string before(stages[0]->save_state().view());
  const size_t n = stages[0]->num_parameters();
  const Buffer good = bytes(std::vector<float>(n)), small = bytes(std::vector<float>(n - 1));
  const Buffer large = bytes(std::vector<float>(3 * n));
  std::vector<float> values(n);
  values[n / 2] = NAN;
  auto code = [&](AveragedPart part, const Buffer& average, const Buffer& sent) {
    return stages[0]->take_average(part, average, sent).code();
  };
  const auto kWeights = AveragedPart::kWeights;
  BOOST_TEST((code(kWeights, small, good) == ErrorCode::kShapeMismatch));
  BOOST_TEST((code(kWeights, good, Buffer()) == ErrorCode::kShapeMismatch));
  BOOST_TEST((code(kWeights, large, large) == ErrorCode::kShapeMismatch));
  BOOST_TEST((code(AveragedPart::kWeightsAndMoments, good, good) == ErrorCode::kShapeMismatch));
  BOOST_TEST((code(kWeights, bytes(values), good) == ErrorCode::kNonFinite));
  BOOST_TEST((code(kWeights, good, bytes(values)) == ErrorCode::kNonFinite));
  BOOST_TEST((stages[0]->save_state().view() == before));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
