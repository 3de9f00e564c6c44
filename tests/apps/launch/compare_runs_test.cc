#include "apps/launch/compare_runs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "records/catalogue.h"
#include "records/metrics.h"

namespace swarm::launch {
namespace {

RunCurve curve(const std::vector<double>& losses, double tokens_per_s = 100) {
  RunCurve out;
  for (size_t i = 0; i < losses.size(); ++i) out.losses[i] = losses[i];
  out.tokens_per_s = tokens_per_s;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CompareRunsTest)

BOOST_AUTO_TEST_CASE(a_curve_within_the_band_is_the_same) {
  const auto c = compare_curves(curve({5, 4.02}, 80),
                                {curve({5, 4.0}, 90), curve({5, 4.05}, 110), curve({5, 4.01})});
  BOOST_TEST(c.same_curve());
  BOOST_TEST(c.steps == 2u);
  BOOST_TEST(c.outside_band == 0u);
  BOOST_TEST(c.spread == 0.05, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(c.undisturbed_tokens_per_s == 100);
  BOOST_TEST(c.ratio == 0.8, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(the_band_is_widened_by_its_own_spread) {
  const std::vector<RunCurve> others = {curve({5, 4.0}), curve({5, 4.05})};
  BOOST_TEST(compare_curves(curve({5, 4.09}), others).same_curve());
  const auto c = compare_curves(curve({5, 4.11}), others);
  BOOST_TEST(!c.same_curve());
  BOOST_TEST(c.worst_step == 1u);
  BOOST_TEST(c.outside_widened == 1u);
  BOOST_TEST(!compare_curves(curve({5.06, 4.0}), others).same_curve());
}

BOOST_AUTO_TEST_CASE(equal_runs_leave_the_least_margin) {
  const std::vector<RunCurve> others = {curve({5, 4}), curve({5, 4})};
  BOOST_TEST(compare_curves(curve({5, 4.00005}), others).same_curve());
  BOOST_TEST(!compare_curves(curve({5, 4.0002}), others).same_curve());
}

BOOST_AUTO_TEST_CASE(a_step_that_is_missing_or_no_number_is_another_curve) {
  BOOST_TEST(compare_curves(curve({5}), {curve({5, 4})}).missing == 1u);
  BOOST_TEST(!compare_curves(curve({5}), {curve({5, 4})}).same_curve());
  BOOST_TEST(!compare_curves(curve({5, NAN}), {curve({5, 4})}).same_curve());
}

BOOST_AUTO_TEST_CASE(what_chaos_did_is_read_with_what_it_cost_and_what_undid_it_is_not) {
  char folder[] = "/tmp/swarm-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(folder) != nullptr);
  std::ofstream metrics(std::string(folder) + "/metrics.jsonl");
  for (uint64_t step = 0; step < 20; ++step) {
    records::StepMetrics line;
    line.step = step;
    line.time_s = 1000.0 + static_cast<double>(step) + (step > 10 ? 3 : 0);
    line.train_loss = 1;
    metrics << to_json(line) << "\n";
  }
  metrics.close();
  std::ofstream events(std::string(folder) + "/events.jsonl");
  const std::pair<double, records::ChaosAct> acts[] = {{1010.5, {0, "cut", false}},
                                                       {1012, {{}, "heal", false}}};
  for (const auto& [time_s, act] : acts) {
    auto event = records::make_event(-1, -1, act);
    event.time_s = time_s;
    events << to_json(event) << "\n";
  }
  events.close();
  const auto curve = read_curve(folder);
  std::filesystem::remove_all(folder);
  BOOST_REQUIRE(curve.ok());
  BOOST_REQUIRE(curve->costs.size() == 1u);
  BOOST_TEST(curve->costs[0].kind == "cut");
  BOOST_TEST(curve->costs[0].median_s == 3, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_folder_without_a_run_is_an_error) {
  BOOST_TEST((read_curve("/nonexistent").error().code == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(a_damaged_piece_of_a_run_is_said) {
  char folder[] = "/tmp/swarm-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string path = folder;
  std::ofstream(path + "/metrics-000001.jsonl.zst") << "no zstd";
  const auto read = read_curve(path);
  BOOST_TEST((read.code() == ErrorCode::kCorruptCheckpoint));
  std::filesystem::remove_all(path);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
