/// All stages of a tiny model in one process, as one: passes, gradients by name, a text; for
/// comparison with the one-process reference.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tensor/reference/one_process.h"
#include "tests/tensor/torch/stage_fixture.h"

namespace swarm::tensor {

/// One microbatch there and back; returns the loss sum.
inline double pass(Stages& stages, const MicrobatchKey& key, bool accumulate = true,
                   StageInput input = some_input()) {
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    auto output = stages[i]->forward(key, input, false);
    require_ok(output);
    input.activations = *output;
  }
  auto loss = stages.back()->forward_backward(key, input, accumulate, false);
  require_ok(loss);
  EncodedTensor gradient = loss->gradient;
  for (size_t i = stages.size() - 1; i-- > 0;) {
    auto next = stages[i]->backward(key, gradient, accumulate);
    require_ok(next);
    gradient = *next;
  }
  BOOST_TEST(gradient.empty());
  for (auto& stage : stages) BOOST_TEST(stage->kept() == 0);
  return loss->loss_sum;
}

inline NamedValues by_name(const Stages& stages, Buffer (ModelStage::*get)() const) {
  NamedValues values;
  for (const auto& stage : stages) {
    std::vector<float> flat = floats(((*stage).*get)());
    for (const ParameterInfo& info : stage->layout()) {
      auto start = flat.begin() + static_cast<ptrdiff_t>(info.offset);
      values[info.global_name] = {start, start + static_cast<ptrdiff_t>(info.size)};
    }
  }
  return values;
}

inline NamedValues gradients(const Stages& stages) {
  return by_name(stages, &ModelStage::gradient_sum);
}

/// Largest difference of any parameter, relative to the parameter's largest element.
inline double distance(const NamedValues& a, const NamedValues& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double worst = 0;
  for (const auto& [name, x] : a) {
    BOOST_REQUIRE_MESSAGE(b.count(name) == 1, name);
    const auto& y = b.at(name);
    BOOST_REQUIRE(x.size() == y.size());
    double largest = 1e-12, difference = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::abs(double{x[i]}));
      difference = std::max(difference, std::abs(double{x[i]} - y[i]));
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

/// A text whose every window is the same microbatch.
class SameText final : public TextData {
 public:
  int32_t sequence() const override { return kSequence; }
  uint64_t num_windows(Split) const override { return 1; }
  uint64_t size_bytes(Split) const override { return kSequence + 1; }
  Buffer microbatch(Split, const std::vector<uint64_t>&) const override { return some_tokens(); }
  void read(Split, uint64_t, uint64_t, uint8_t*) const override {}
  uint64_t fingerprint() const override { return 0; }
};

}  // namespace swarm::tensor
