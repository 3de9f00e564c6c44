/// A tiny GPT, its microbatches and its pipelines, for the tests of the stages.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tensor/torch/model_stage.h"
#include "tensor/torch/sampler.h"

namespace swarm::tensor {

constexpr uint32_t kSamples = 3, kSequence = 12;

inline ModelOptions tiny_model() {
  ModelOptions model;
  model.layers = 8;
  model.width = 16;
  model.heads = 2;
  model.ffn = 40;
  model.sequence = 12;
  model.seed = 7;
  return model;
}

inline Buffer some_tokens(uint32_t samples = kSamples, uint32_t sequence = kSequence,
                          size_t salt = 0) {
  std::vector<int32_t> tokens(samples * (sequence + 1));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>((i * i * (31 + 2 * salt) + 5 + salt) % 256);
  return Buffer::from_string(
      std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * 4));
}

/// Other samples for every salt.
inline StageInput some_input(size_t salt = 0) {
  StageInput input;
  input.samples = kSamples;
  input.sequence = kSequence;
  input.tokens = some_tokens(kSamples, kSequence, salt);
  return input;
}

inline std::vector<float> floats(const Buffer& buffer) {
  std::vector<float> values(buffer.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

inline Buffer bytes(const std::vector<float>& values) {
  return Buffer::from_string(
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
}

/// SWARM_TEST_DEVICE=cuda runs the stages of these tests on a GPU.
inline std::string test_device() {
  const char* set = std::getenv("SWARM_TEST_DEVICE");
  return set == nullptr ? "cpu" : set;
}

inline StageOptions stage_options(int32_t stage, int32_t num_stages) {
  StageOptions options;
  options.model = tiny_model();
  options.stage = stage;
  options.num_stages = num_stages;
  options.config_fingerprint = "fingerprint";
  options.older_fingerprint = "older";
  options.device = test_device();
  return options;
}

template <class T>
void require_ok(const Result<T>& result) {
  BOOST_REQUIRE_MESSAGE(result.ok(), (result.ok() ? std::string() : result.error().detail));
}

inline Stages pipeline(StageOptions options) {
  Stages stages;
  for (options.stage = 0; options.stage < options.num_stages; ++options.stage) {
    auto stage = open_stage(options);
    require_ok(stage);
    stages.push_back(std::move(*stage));
  }
  return stages;
}

}  // namespace swarm::tensor
