// What parameters may be beside a lossy codec: a mean up to what it may take, of the right samples and weights.
#include "apps/sim/lossy_histories.h"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "apps/sim/arithmetic_stage.h"
#include "apps/sim/simulation.h"
#include "tests/support/sanitized.h"

using namespace swarm;
using namespace swarm::sim;

namespace {

constexpr uint32_t kBatch = 16, kMicrobatch = 2;

std::vector<float> after(const std::vector<float>& before, double gradient) {
  std::vector<float> now = before;
  for (uint64_t i = 0; i < now.size(); ++i)
    now[i] -= static_cast<float>(gradient * static_cast<double>(i + 1));
  return now;
}

/// Of the first step, where all parameters are zero, without the slots that `leaves_out` names.
double mean_gradient(uint32_t stage, const std::function<bool(uint32_t)>& leaves_out) {
  double sum = 0;
  for (uint64_t i = 0; i < kBatch; ++i)
    if (!leaves_out(static_cast<uint32_t>(i / kMicrobatch)))
      sum += static_cast<double>(gradient_of(sample_value(i), stage, 0, 0));
  return sum / kBatch;
}

struct OneStage {
  LossyHistories histories{{1, kBatch, kMicrobatch, true}, tensor::Codec::kInt8Linear};
  std::vector<float> zeros = std::vector<float>(kExactParameters, 0.0f);
  double gradient = mean_gradient(0, [](uint32_t) { return false; });
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LossyHistoriesTest, OneStage)

BOOST_AUTO_TEST_CASE(a_codec_takes_at_most_half_a_step_of_its_code) {
  BOOST_TEST(worst_loss(tensor::Codec::kNone) == 0.0);
  BOOST_TEST(worst_loss(tensor::Codec::kInt8Linear) < 1.0 / 253);
  BOOST_TEST(worst_loss(tensor::Codec::kInt8Linear) > 1.0 / 300);
  BOOST_TEST(worst_loss(tensor::Codec::kInt4) < 1.0 / 13);
  BOOST_TEST(worst_loss(tensor::Codec::kBf16) < 1.0 / 250);
  BOOST_TEST(worst_loss(tensor::Codec::kFp16) > 0.0);
}

BOOST_AUTO_TEST_CASE(what_a_codec_may_take_is_no_violation) {
  BOOST_TEST(histories.has(Stage(0), 0, zeros));
  BOOST_TEST(histories.has(Stage(0), 1, after(zeros, gradient)));
  auto rounded = after(zeros, gradient);
  for (float& value : rounded) value += static_cast<float>(gradient * kExactParameters / 254);
  BOOST_TEST(histories.has(Stage(0), 1, rounded));
}

BOOST_AUTO_TEST_CASE(a_slot_that_does_not_count_is_found) {
  for (uint32_t slot = 0; slot < kBatch / kMicrobatch; ++slot) {
    const double less = mean_gradient(0, [slot](uint32_t other) { return other == slot; });
    BOOST_TEST(!histories.has(Stage(0), 1, after(zeros, less)), "slot " << slot);
  }
}

BOOST_AUTO_TEST_CASE(a_slot_that_counts_twice_is_found) {
  for (uint32_t slot = 0; slot < kBatch / kMicrobatch; ++slot) {
    const double without = mean_gradient(0, [slot](uint32_t other) { return other == slot; });
    BOOST_TEST(!histories.has(Stage(0), 1, after(zeros, 2 * gradient - without)), "slot " << slot);
  }
}

BOOST_AUTO_TEST_CASE(a_slot_that_all_leave_out_is_none_of_the_mean) {
  records::ClosedStep closing;
  closing.skipped = {0};
  const double sum = mean_gradient(0, [](uint32_t slot) { return slot == 0; });
  const auto now = after(zeros, sum * kBatch / (kBatch - kMicrobatch));
  BOOST_TEST(!histories.has(Stage(0), 1, now));
  histories.closed(closing);
  BOOST_TEST(histories.has(Stage(0), 1, now));
}

BOOST_AUTO_TEST_CASE(parameters_go_on_from_those_that_were_there) {
  const auto first = after(zeros, gradient);
  BOOST_TEST(!histories.has(Stage(0), 2, after(first, gradient)));  // nobody was at step 1
  BOOST_TEST(histories.has(Stage(0), 1, first));
  double second = 0;
  const int64_t weight = weight_of(first.front());
  for (uint64_t i = 0; i < kBatch; ++i)
    second +=
        static_cast<double>(gradient_of(sample_value(kBatch + i), 0, weight, weight)) / kBatch;
  BOOST_TEST(weight > 0);
  BOOST_TEST(!histories.has(Stage(0), 2, after(first, second - 2.0 * static_cast<double>(weight))));
  BOOST_TEST(histories.has(Stage(0), 2, after(first, second)));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(LossyRuns)

BOOST_AUTO_TEST_CASE(what_codecs_take_under_faults_costs_time_only) {
  for (size_t row = 1; row < tensor::codec_names().size(); ++row)
    for (const auto profile : all_profiles()) {
      if (testing::kSanitized && profile != FaultProfile::kAll) continue;
      SimulationOptions options;
      options.seed = 9'100'000 + row;
      options.profile = profile;
      options.averaging = static_cast<tensor::Codec>(row);
      options.delayed_updates = row % 2 == 0;
      const auto report = simulate(options);
      if (report.violation) BOOST_ERROR(explain(report));
    }
}

// A late report of an attempt whose sum was dropped counted, though another had brought the slot since.
BOOST_AUTO_TEST_CASE(what_counts_is_what_the_sum_holds) {
  SimulationOptions options;
  options.seed = 9'110'002;
  options.profile = FaultProfile::kAll;
  options.averaging = tensor::Codec::kInt8;
  options.delayed_updates = true;
  const auto report = simulate(options);
  if (report.violation) BOOST_ERROR(explain(report));
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_left_out_is_found_beside_a_codec) {
  SimulationOptions options;
  options.profile = FaultProfile::kNone;
  options.averaging = tensor::Codec::kInt8Linear;
  BOOST_TEST(!simulate(options).violation.has_value());
  options.drop_gradient = "2:1";
  const auto report = simulate(options);
  BOOST_REQUIRE(report.violation.has_value());
  BOOST_TEST(report.violation->invariant == "I1");
  BOOST_TEST(explain(report).find("--averaging int8_linear") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
