#include "tensor/torch/model_stage.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "tensor/core/architecture.h"
#include "tensor/core/flat.h"
#include "tensor/core/state_format.h"
#include "tensor/reference/one_process.h"
#include "tests/tensor/torch/stage_fixture.h"
#include "tests/tensor/torch/whole_model.h"

namespace swarm::tensor {
namespace {

// Sums of up to 768 float32 products in another order, through 8 layers: relative errors of some
// 2^-24 * sqrt(768) * 8 = 1.3e-5 at most; a wrong or missing term shows as 1e-2 and more.
constexpr double kTolerance = 2e-5;

}  // namespace

BOOST_AUTO_TEST_SUITE(Splitting)

void loss_and_gradients_equal_the_reference(ModelKind kind) {
  ModelOptions model = tiny_model();
  model.kind = kind;
  auto reference = reference_gradient(model, some_tokens(), kSamples, kSequence);
  require_ok(reference);
  BOOST_TEST(std::abs(reference->loss_sum / kSamples - std::log(256.0)) < 0.2);
  const std::vector<std::vector<int32_t>> splits = {{8},       {4, 4}, {2, 2, 2, 2},
                                                    {1, 6, 1}, {5, 3}, {1, 1, 1, 1, 1, 1, 1, 1}};
  for (const auto& split : splits) {
    for (BackwardPolicy policy : {BackwardPolicy::kKeep, BackwardPolicy::kRecompute}) {
      StageOptions options = stage_options(0, static_cast<int32_t>(split.size()));
      options.model.kind = kind;
      options.model.layers_per_stage = split;
      options.backward = policy;
      Stages stages = pipeline(options);
      const double loss = pass(stages, {});
      BOOST_TEST(loss == reference->loss_sum, boost::test_tools::tolerance(1e-5));
      BOOST_TEST(distance(reference->gradients, gradients(stages)) < kTolerance);
    }
  }
}

// Every row of the table of models.
BOOST_AUTO_TEST_CASE(loss_and_all_gradients_equal_the_reference_for_every_split) {
  BOOST_TEST(architecture(ModelKind::kGpt).name == "gpt");
  for (size_t row = 0; row < model_names().size(); ++row) {
    BOOST_TEST_CONTEXT(model_names()[row])
    loss_and_gradients_equal_the_reference(static_cast<ModelKind>(row));
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_that_lacks_one_sample_is_told_apart) {
  auto whole = reference_gradient(tiny_model(), some_tokens(), kSamples, kSequence);
  auto less = reference_gradient(tiny_model(), some_tokens(kSamples - 1), kSamples - 1, kSequence);
  BOOST_REQUIRE((whole.ok() && less.ok()));
  BOOST_TEST(distance(whole->gradients, less->gradients) > 100 * kTolerance);
}

BOOST_AUTO_TEST_CASE(initial_parameters_do_not_depend_on_the_split) {
  auto one = by_name(pipeline(stage_options(0, 1)), &ModelStage::parameters);
  auto four = by_name(pipeline(stage_options(0, 4)), &ModelStage::parameters);
  BOOST_TEST((one == four));
  BOOST_TEST((one.at("layers.0.mlp.up.weight") != one.at("layers.1.mlp.up.weight")));
}

BOOST_AUTO_TEST_CASE(training_in_stages_equals_the_one_process_trainer) {
  StageOptions options = stage_options(0, 3);
  options.optimizer.learning_rate = 0.01;
  options.optimizer.warmup_steps = 2;
  Stages stages = pipeline(options);
  SameText data;
  ReferenceOptions reference;
  reference.model = options.model;
  reference.optimizer = options.optimizer;
  reference.batch = 2 * kSamples;
  reference.microbatch = kSamples;
  reference.steps = 5;
  auto run = train_reference(reference, data);
  BOOST_REQUIRE(run.ok());
  std::vector<Buffer> at_step_3;
  for (uint64_t step = 0; step < reference.steps; ++step) {
    if (step == 3)
      for (auto& stage : stages) at_step_3.push_back(stage->save_state());
    double loss = 0, squared = 0;
    for (uint32_t slot = 0; slot < 2; ++slot) loss += pass(stages, {Step(step), Slot(slot), {}});
    BOOST_TEST(loss / reference.batch == run->losses[step], boost::test_tools::tolerance(1e-4));
    std::vector<std::vector<float>> means;
    for (auto& stage : stages) {
      means.push_back(floats(stage->gradient_sum()));
      for (float& g : means.back()) g /= static_cast<float>(reference.batch);
      for (float g : means.back()) squared += double{g} * g;
    }
    const double norm = std::sqrt(squared);
    BOOST_TEST(norm == run->gradient_norms[step], boost::test_tools::tolerance(1e-3));
    for (size_t i = 0; i < stages.size(); ++i) {
      BOOST_TEST(stages[i]->apply(bytes(means[i]), clip_scale(options.optimizer, norm)).ok());
      BOOST_TEST(stages[i]->step() == step + 1);
    }
  }
  BOOST_TEST(run->losses.back() < run->losses.front() - 0.5);
  // Adam divides by the gradient's own size: rounding of tiny gradients is blown up to some 1e-3
  // of the learning rate per step.
  const auto trained = by_name(stages, &ModelStage::parameters);
  double worst = 0;
  for (const auto& [name, x] : run->parameters) {
    const auto& y = trained.at(name);
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(double{x[i]} - y[i]));
  }
  BOOST_TEST(worst < 5 * 0.01 * 0.02);
  reference.lost_slot = SlotToLose{3, 1};
  auto lost = train_reference(reference, data);
  BOOST_REQUIRE(lost.ok());
  BOOST_TEST(lost->losses[3] < 0.6 * run->losses[3]);
  reference.lost_slot.reset();
  reference.skipped[3] = {1};  // both slots have the same samples: the mean stays
  auto skipped = train_reference(reference, data);
  BOOST_REQUIRE(skipped.ok());
  BOOST_TEST(skipped->losses[3] == run->losses[3], boost::test_tools::tolerance(1e-6));
  BOOST_TEST(skipped->gradient_norms[3] == run->gradient_norms[3],
             boost::test_tools::tolerance(1e-4));
  auto state = reference_state(options.model, at_step_3);
  BOOST_REQUIRE(state.ok());
  auto trainer = ReferenceTrainer::make(reference, data);
  BOOST_REQUIRE(trainer.ok());
  BOOST_TEST((*trainer)->restore(*state).ok());
  BOOST_TEST((*trainer)->step() == 3u);
  BOOST_TEST((*trainer)->state().updates == 3u);
  BOOST_TEST(((*trainer)->state().parameters == state->parameters));
  BOOST_TEST(((*trainer)->state().moments == state->moments));
  auto rest = (*trainer)->train_until(5);
  BOOST_REQUIRE(rest.ok());
  for (size_t i = 0; i < 2; ++i) {
    BOOST_TEST(rest->losses[i] == run->losses[3 + i], boost::test_tools::tolerance(1e-4));
    BOOST_TEST(rest->gradient_norms[i] == run->gradient_norms[3 + i],
               boost::test_tools::tolerance(1e-3));
  }
  // Delayed: the first step after the start has nothing to wait for; the second repeats its
  // gradient, since all samples are the same and so are the parameters.
  reference.skipped.clear();
  reference.computed_on = {{1, 0}, {2, 1}};
  auto delayed = ReferenceTrainer::make(reference, data);
  BOOST_REQUIRE(delayed.ok());
  auto run2 = (*delayed)->train_until(3);
  BOOST_REQUIRE(run2.ok());
  BOOST_TEST(run2->losses[1] == run2->losses[0]);
  BOOST_TEST(run2->gradient_norms[1] == run2->gradient_norms[0]);
  BOOST_TEST(run2->losses[2] == run->losses[1], boost::test_tools::tolerance(1e-6));
  BOOST_TEST(((*delayed)->restore(*state).ok()));  // at step 3, its step 2 is known
  reference.computed_on[3] = 2;
  auto jumped = ReferenceTrainer::make(reference, data);
  BOOST_TEST((*jumped)->restore(*state).ok());
  BOOST_TEST(((*jumped)->train_until(4).error().code == ErrorCode::kInvalidArgument));
  state->moments[0].begin()->second.pop_back();
  BOOST_TEST(((*trainer)->restore(*state).error().code == ErrorCode::kShapeMismatch));
}

BOOST_AUTO_TEST_CASE(nag_in_stages_equals_nag_in_the_one_process_trainer) {
  StageOptions options = stage_options(0, 3);
  options.optimizer.kind = OptimizerKind::kNag;
  options.optimizer.learning_rate = 0.01;
  options.optimizer.beta1 = 0.99;
  options.optimizer.beta2 = 0.999;
  options.optimizer.clip_norm = 0;
  options.optimizer.momentum_decay = 5;  // each momentum differs from the one before
  options.optimizer.epsilon = 1e-4;      // so that rounding of tiny gradients is not blown up
  Stages stages = pipeline(options);
  SameText data;
  ReferenceOptions reference;
  reference.model = options.model;
  reference.optimizer = options.optimizer;
  reference.batch = reference.microbatch = kSamples;
  auto trainer = ReferenceTrainer::make(reference, data);
  require_ok(trainer);
  auto train = [&](uint64_t step) {
    auto run = (*trainer)->train_until(step + 1);
    require_ok(run);
    const double loss = pass(stages, {Step(step), {}, {}});
    BOOST_TEST(loss / kSamples == run->losses[0], boost::test_tools::tolerance(1e-5));
    for (auto& stage : stages) {
      std::vector<float> mean = floats(stage->gradient_sum());
      for (float& g : mean) g /= kSamples;
      BOOST_REQUIRE(stage->apply(bytes(mean), 1).ok());
    }
  };
  auto compare = [&] {
    BOOST_TEST(distance((*trainer)->state().parameters, by_name(stages, &ModelStage::parameters)) <
               1e-4);
    std::vector<Buffer> states;
    for (auto& stage : stages) states.push_back(stage->save_state());
    auto saved = reference_state(options.model, states);
    require_ok(saved);
    const ReferenceState own = (*trainer)->state();
    BOOST_TEST(saved->updates == own.updates);
    BOOST_TEST(saved->momentum_product == own.momentum_product);
    BOOST_TEST(distance(own.moments[0], saved->moments[0]) < 1e-4);
    BOOST_TEST(distance(own.moments[1], saved->moments[1]) < 1e-4);
    return *saved;
  };
  for (uint64_t step = 0; step < 8; ++step) train(step);
  auto saved = compare();
  trainer = ReferenceTrainer::make(reference, data);
  BOOST_REQUIRE((*trainer)->restore(saved).ok());
  for (uint64_t step = 8; step < 12; ++step) train(step);
  compare();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ModelStageTest)

BOOST_AUTO_TEST_CASE(gradients_add_up_and_only_if_asked) {
  Stages stages = pipeline(stage_options(0, 2));
  pass(stages, {}, /*accumulate=*/false);
  for (float g : floats(stages[0]->gradient_sum())) BOOST_REQUIRE(g == 0);
  for (float g : floats(stages[1]->gradient_sum())) BOOST_REQUIRE(g == 0);
  pass(stages, {{}, {}, Attempt(1)});
  auto once = gradients(stages);
  pass(stages, {{}, Slot(1), {}});
  auto twice = gradients(stages);
  for (auto& [name, values] : once) {
    for (float& g : values) g *= 2;
  }
  BOOST_TEST((once == twice));
}

BOOST_AUTO_TEST_CASE(lossy_boundaries_and_bf16_stay_close) {
  auto reference = reference_gradient(tiny_model(), some_tokens(), kSamples, kSequence);
  BOOST_REQUIRE(reference.ok());
  for (ComputeType compute : {ComputeType::kFp32, ComputeType::kBf16}) {
    StageOptions options = stage_options(0, 3);
    options.activation_codec = Codec::kFp16;
    options.gradient_codec = Codec::kBf16;
    options.compute = compute;
    Stages stages = pipeline(options);
    const double loss = pass(stages, {});
    BOOST_TEST(loss == reference->loss_sum, boost::test_tools::tolerance(1e-2));
    BOOST_TEST(distance(reference->gradients, gradients(stages)) < 0.2);
  }
}

BOOST_AUTO_TEST_CASE(forward_only_keeps_nothing_and_gives_the_same_loss) {
  Stages stages = pipeline(stage_options(0, 2));
  StageInput input = some_input();
  auto activations = stages[0]->forward({}, input, true);
  BOOST_REQUIRE(activations.ok());
  BOOST_TEST(stages[0]->kept() == 0);
  input.activations = *activations;
  auto loss = stages[1]->forward_backward({}, input, true, true);
  BOOST_REQUIRE(loss.ok());
  BOOST_TEST(loss->gradient.empty());
  for (float g : floats(stages[1]->gradient_sum())) BOOST_REQUIRE(g == 0);
  BOOST_TEST(loss->loss_sum == pass(stages, {{}, Slot(1), {}}));
}

BOOST_AUTO_TEST_CASE(bad_input_is_refused_by_name) {
  Stages stages = pipeline(stage_options(0, 2));
  const MicrobatchKey key{Step(9), Slot(9), Attempt(9)};
  auto code = [&](size_t stage, const StageInput& input) {
    return stage == 0 ? stages[0]->forward(key, input, false).code()
                      : stages[1]->forward_backward(key, input, true, false).code();
  };
  StageInput input = some_input();
  input.samples = 2;
  BOOST_TEST((code(0, input) == ErrorCode::kShapeMismatch));
  input.samples = 0xffffffff;
  BOOST_TEST((code(0, input) == ErrorCode::kInvalidArgument));
  input = some_input();
  input.sequence = 13;
  BOOST_TEST((code(0, input) == ErrorCode::kInvalidArgument));
  input = some_input();
  std::string wrong(input.tokens.view());
  wrong[1] = 1;  // token 256 and more
  input.tokens = Buffer::from_string(wrong);
  BOOST_TEST((code(0, input) == ErrorCode::kInvalidArgument));
  input = some_input();
  BOOST_TEST((code(1, input) == ErrorCode::kShapeMismatch));  // no activations
  auto activations = stages[0]->forward({}, input, false);
  BOOST_REQUIRE(activations.ok());
  input.activations = *activations;
  BOOST_TEST((code(0, input) == ErrorCode::kInvalidArgument));  // activations at the first stage
  std::vector<float> nan = floats(activations->data);
  nan[5] = NAN;
  input.activations.data = bytes(nan);
  BOOST_TEST((code(1, input) == ErrorCode::kNonFinite));
  input.activations.data = activations->data.slice(0, activations->data.size() - 4);
  BOOST_TEST((code(1, input) == ErrorCode::kShapeMismatch));
  BOOST_TEST((stages[0]->forward({}, some_input(), false).code() == ErrorCode::kAlreadyExists));
  BOOST_TEST(
      (stages[0]->backward({Step(1), {}, {}}, *activations, true).code() == ErrorCode::kNotFound));
  EncodedTensor gradient = *activations;
  gradient.data = bytes(nan);
  BOOST_TEST((stages[0]->backward({}, gradient, true).code() == ErrorCode::kNonFinite));
  for (float g : floats(stages[0]->gradient_sum())) BOOST_REQUIRE(g == 0);
  BOOST_TEST(stages[0]->kept() == 0);
  BOOST_TEST((stages[0]->apply(bytes({1.0f}), 1).code() == ErrorCode::kShapeMismatch));
  std::vector<float> bad(stages[0]->num_parameters(), NAN);
  const uint64_t before = stages[0]->checksum();
  BOOST_TEST((stages[0]->apply(bytes(bad), 1).code() == ErrorCode::kNonFinite));
  BOOST_TEST(stages[0]->checksum() == before);
}

BOOST_AUTO_TEST_CASE(dropped_attempts_are_forgotten) {
  Stages stages = pipeline(stage_options(0, 2));
  BOOST_REQUIRE(stages[0]->forward({}, some_input(), false).ok());
  BOOST_TEST(stages[0]->kept() == 1);
  stages[0]->drop({{}, {}, Attempt(1)});
  BOOST_TEST(stages[0]->kept() == 1);
  stages[0]->drop({});
  BOOST_TEST(stages[0]->kept() == 0);
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused) {
  StageOptions options = stage_options(2, 2);
  BOOST_TEST((open_stage(options).code() == ErrorCode::kInvalidArgument));
  options = stage_options(0, 9);
  BOOST_TEST((open_stage(options).code() == ErrorCode::kInvalidArgument));
  options = stage_options(0, 2);
  options.model.layers_per_stage = {8};
  BOOST_TEST((make_stage(options).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(StageStateTest)

BOOST_AUTO_TEST_CASE(a_restored_stage_goes_on_bit_for_bit) {
  auto train = [](Stages& stages, uint64_t step) {
    pass(stages, {Step(step), {}, {}});
    for (auto& stage : stages) BOOST_REQUIRE(stage->apply(stage->gradient_sum(), 0.5).ok());
  };
  Stages original = pipeline(stage_options(0, 2));
  for (uint64_t step = 0; step < 3; ++step) train(original, step);
  Stages restored = pipeline(stage_options(0, 2));
  for (size_t i = 0; i < 2; ++i) {
    Buffer state = original[i]->save_state();
    BOOST_REQUIRE(restored[i]->load_state(state).ok());
    BOOST_TEST((restored[i]->save_state().view() == state.view()));
    BOOST_TEST(restored[i]->step() == 3);
    proto::StageState parsed;  // any protobuf parser can read it
    BOOST_REQUIRE(parsed.ParseFromArray(state.data(), static_cast<int>(state.size())));
    BOOST_TEST(parsed.payload().size() == 12 * original[i]->num_parameters());
    BOOST_TEST(parsed.updates() == 3);
  }
  train(original, 3);
  train(restored, 3);
  for (size_t i = 0; i < 2; ++i) BOOST_TEST(original[i]->checksum() == restored[i]->checksum());
}

BOOST_AUTO_TEST_CASE(a_state_names_its_history) {
  Stages stages = pipeline(stage_options(0, 2));
  BOOST_TEST(history_of(stages[0]->save_state()) == 0u);
  stages[0]->set_history(77);
  const Buffer state = stages[0]->save_state();
  BOOST_TEST(history_of(state) == 77u);
  BOOST_TEST(history_of(state.slice(0, kMaxHeadBytes < state.size() ? kMaxHeadBytes : 200)) == 77u);
  BOOST_TEST(history_of(state.slice(0, 3)) == 0u);
  BOOST_TEST((stages[1]->load_state(state).code() == ErrorCode::kShapeMismatch));
}

BOOST_AUTO_TEST_CASE(damaged_and_foreign_states_are_refused_and_change_nothing) {
  Stages stages = pipeline(stage_options(0, 2));
  Stage& stage = *stages[0];
  const uint64_t before = stage.checksum();
  const Buffer good = stage.save_state();
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{7}, size_t{30}, good.size() / 2, good.size() - 1}) {
    BOOST_TEST((stage.load_state(good.slice(0, size)).code() == ErrorCode::kCorruptCheckpoint));
  }
  BOOST_TEST((stage.load_state(Buffer::from_string(std::string(good.view()) + "x")).code() ==
              ErrorCode::kCorruptCheckpoint));
  for (size_t i = 0; i < 24; ++i) {  // the head: no damage may crash
    std::string bad(good.view());
    bad[i] = static_cast<char>(0xff);
    (void)stage.load_state(Buffer::from_string(bad)).ok();
  }
  BOOST_REQUIRE(stage.load_state(good).ok());
  auto changed = [&](auto change) {
    auto view = parse_state(good);
    change(view->head);
    Buffer state = serialize_state(view->head, {{view->payload.data(), view->payload.size()}});
    return stage.load_state(state).code();
  };
  BOOST_TEST((changed([](auto&) {}) == ErrorCode::kNone));
  BOOST_TEST((changed([](auto& h) { h.set_format_version(2); }) == ErrorCode::kCorruptCheckpoint));
  BOOST_TEST((changed([](auto& h) { h.set_stage(1); }) == ErrorCode::kShapeMismatch));
  BOOST_TEST((changed([](auto& h) { h.set_num_stages(4); }) == ErrorCode::kShapeMismatch));
  BOOST_TEST(
      (changed([](auto& h) { h.set_config_fingerprint("x"); }) == ErrorCode::kShapeMismatch));
  BOOST_TEST((changed([](auto& h) { h.set_config_fingerprint("older"); }) == ErrorCode::kNone));
  BOOST_TEST((changed([](auto& h) { h.set_num_parameters(5); }) == ErrorCode::kCorruptCheckpoint));
  BOOST_TEST((stage.load_state(stages[1]->save_state()).code() == ErrorCode::kShapeMismatch));
  BOOST_TEST(stage.checksum() == before);
}

/// A stage of NAG that has done three updates.
Stages nag_stages() {
  StageOptions options = stage_options(0, 2);
  options.optimizer.kind = OptimizerKind::kNag;
  options.optimizer.beta1 = 0.99;
  options.optimizer.beta2 = 0.999;
  Stages stages = pipeline(options);
  for (uint64_t step = 0; step < 3; ++step) {
    pass(stages, {Step(step), {}, {}});
    for (auto& stage : stages) {
      auto done = stage->apply_local(kSamples, 0);
      require_ok(done);
    }
  }
  return stages;
}

BOOST_AUTO_TEST_CASE(a_nag_stage_is_saved_with_its_momentum_product_and_goes_on_bit_for_bit) {
  Stages original = nag_stages(), restored = nag_stages();
  for (size_t i = 0; i < 2; ++i) {
    restored[i]->initialize();
    BOOST_TEST(restored[i]->updates() == 0u);
    const Buffer state = original[i]->save_state();
    auto view = parse_state(state);
    require_ok(view);
    BOOST_TEST(view->head.format_version() == kStateFormatVersion);
    BOOST_TEST((optimizer_kind(view->head) == OptimizerKind::kNag));
    double product = 1;
    for (int t = 1; t <= 3; ++t) product *= 0.99 * (1 - 0.5 * std::pow(0.96, t * 0.004));
    BOOST_TEST(view->head.momentum_product() == product, boost::test_tools::tolerance(1e-12));
    BOOST_REQUIRE(restored[i]->load_state(state).ok());
    BOOST_TEST((restored[i]->save_state().view() == state.view()));
    BOOST_TEST(restored[i]->updates() == 3u);
  }
  for (Stages* stages : {&original, &restored}) {
    pass(*stages, {Step(3), {}, {}});
    for (auto& stage : *stages) BOOST_REQUIRE(stage->apply_local(kSamples, 1).ok());
  }
  for (size_t i = 0; i < 2; ++i)
    BOOST_TEST((restored[i]->save_state().view() == original[i]->save_state().view()));
  std::vector<Buffer> states;
  for (auto& stage : original) states.push_back(stage->save_state());
  BOOST_TEST(load_stages(tiny_model(), states).ok());
}

BOOST_AUTO_TEST_CASE(a_head_with_counts_that_cannot_be_is_refused) {
  Stages adamw = pipeline(stage_options(0, 2)), nag = nag_stages();
  auto code = [](ModelStage& stage, auto change) {
    auto view = parse_state(stage.save_state());
    change(view->head);
    return stage
        .load_state(serialize_state(view->head, {{view->payload.data(), view->payload.size()}}))
        .code();
  };
  const auto corrupt = ErrorCode::kCorruptCheckpoint;
  BOOST_TEST((code(*nag[0], [](auto&) {}) == ErrorCode::kNone));
  for (ModelStage* stage : {adamw[0].get(), nag[0].get()}) {
    const uint64_t before = stage->checksum();
    BOOST_TEST((code(*stage, [](auto& h) { h.set_updates(UINT64_MAX); }) == corrupt));
    BOOST_TEST((code(*stage, [](auto& h) { h.set_step(UINT64_MAX); }) == corrupt));
    BOOST_TEST((code(*stage, [](auto& h) { h.set_format_version(0); }) == corrupt));
    BOOST_TEST((code(*stage, [](auto& h) { h.set_format_version(3); }) == corrupt));
    BOOST_TEST((code(*stage, [](auto& h) { h.set_optimizer("zip"); }) == corrupt));
    BOOST_TEST((code(*stage, [](auto& h) { h.set_num_parameters(UINT64_MAX / 2); }) == corrupt));
    BOOST_TEST(stage->checksum() == before);
    for (double product : {-1.0, 1.5, double{NAN}, double{INFINITY}})
      BOOST_TEST((code(*stage, [&](auto& h) { h.set_momentum_product(product); }) == corrupt));
  }
  BOOST_TEST((code(*nag[0], [](auto& h) { h.set_updates(0); }) == corrupt));
  auto view = parse_state(nag[0]->save_state());  // readers without an optimizer are told too
  view->head.set_momentum_product(2);
  BOOST_TEST(
      (parse_state(serialize_state(view->head, {{view->payload.data(), view->payload.size()}}))
           .code() == corrupt));
  BOOST_TEST((code(*nag[0], [](auto& h) { h.set_format_version(1); }) == corrupt));
  BOOST_TEST((adamw[0]->load_state(nag[0]->save_state()).code() == ErrorCode::kShapeMismatch));
  BOOST_TEST((nag[0]->load_state(adamw[0]->save_state()).code() == ErrorCode::kShapeMismatch));
}

// Head and digest of what the program wrote before it knew another optimizer than AdamW.
BOOST_AUTO_TEST_CASE(snapshots_of_adamw_are_the_bytes_they_always_were) {
  Stages stages = pipeline(stage_options(0, 2));
  for (int step = 0; step < 6; ++step)
    BOOST_REQUIRE(stages[0]->apply(stages[0]->gradient_sum(), 1).ok());  // zeros: only decay
  const std::string head = std::string("\x08\x01\x18\x02\x20\x06\x2a\x0b") + "fingerprint" +
                           "\x30\xa0\x6f\x38\x06\x7a\x80\xb7\x0a";
  const Buffer state = stages[0]->save_state();
  BOOST_TEST((std::string(state.view()).substr(0, head.size()) == head));
  BOOST_TEST(digest(state.data(), state.size()) == 0xf48d2e7226e92d34u);
  BOOST_TEST(stages[0]->load_state(state).ok());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(Sampler)

BOOST_AUTO_TEST_CASE(text_depends_on_the_seed_and_not_on_the_split) {
  auto text = [](int32_t num_stages, uint64_t seed, double temperature) {
    Stages stages = pipeline(stage_options(0, num_stages));
    std::vector<Buffer> states;
    for (auto& stage : stages) states.push_back(stage->save_state());
    auto loaded = load_stages(tiny_model(), states);
    BOOST_REQUIRE(loaded.ok());
    SampleOptions options;
    options.prompt = "longer than the window";
    options.count = 20;
    options.seed = seed;
    options.temperature = temperature;
    auto result = sample_text(*loaded, tiny_model().sequence, options);
    BOOST_REQUIRE(result.ok());
    return *result;
  };
  BOOST_TEST(text(1, 1, 1.0) == text(4, 1, 1.0));
  BOOST_TEST(text(1, 1, 1.0) != text(1, 2, 1.0));
  BOOST_TEST(text(1, 1, 0.0) == text(1, 2, 0.0));
}

BOOST_AUTO_TEST_CASE(tokens_are_chosen_by_probability_within_the_top_k) {
  const std::vector<float> logits = {0.0f, std::log(3.0f), -50.0f};
  BOOST_TEST(choose_token(logits, 0, 0, 0.99) == 1);
  BOOST_TEST(choose_token(logits, 1, 0, 0.74) == 1);
  BOOST_TEST(choose_token(logits, 1, 0, 0.76) == 0);
  BOOST_TEST(choose_token(logits, 1, 1, 0.99) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
