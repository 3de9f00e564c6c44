// What `swarm sweep` makes of its runs: figures, differences, tables.
#include "apps/sweep/sweep_table.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/apps/sweep/plans.h"

namespace swarm::sweep {
namespace {

using Texts = std::vector<std::string>;

std::string step(int number, double time, double loss, int attempts = 4) {
  return "{\"step\":" + std::to_string(number) + ",\"time\":" + std::to_string(time) +
         ",\"seconds\":2.0,\"train_loss\":" + std::to_string(loss) +
         ",\"slots\":4,\"attempts\":" + std::to_string(attempts) + "}";
}

RunFigures finished(double loss) {
  RunFigures out;
  out.status = "finished";
  out.validation_loss = loss;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SweepTable)

BOOST_AUTO_TEST_CASE(a_runs_figures_come_from_its_files) {
  std::vector<std::string> metrics;
  for (int i = 0; i < 20; ++i) metrics.push_back(step(i, 100 + i * 3, 20 - i, i == 4 ? 7 : 4));
  metrics.push_back("{\"step\":20,\"time\":161,\"train_loss\":null,\"validation_loss\":2.25}");
  metrics.push_back("{\"torn");
  const auto run = read_figures(
      "{\"status\":\"finished\",\"tokens_per_second\":50.5,\"seconds\":70,\"validation_loss\":9}",
      metrics, {});
  BOOST_TEST(run.status == "finished");
  BOOST_TEST(run.train_loss.value() == 5.5);  // of 10, 9, ..., 1
  BOOST_TEST(run.validation_loss.value() == 2.25);
  BOOST_TEST(run.seconds.value() == 2 + 19 * 3);
  BOOST_TEST(run.tokens_per_second.value() == 50.5);
  BOOST_TEST(run.retries.value() == 3);
}

BOOST_AUTO_TEST_CASE(the_time_between_a_stop_and_a_resume_is_not_trained) {
  const std::vector<std::string> metrics = {step(0, 10, 1), step(1, 13, 1), step(2, 5000, 1),
                                            step(3, 5003, 1)};
  const std::string resumed = "{\"time\":4990.5,\"event\":\"run_resumed\",\"node\":\"run\"}";
  BOOST_TEST(read_figures("", metrics, {"{}", "x", resumed}).seconds.value() == 2 + 3 + 2 + 3);
  BOOST_TEST(read_figures("", metrics, {}).seconds.value() == 2 + 4993);
}

BOOST_AUTO_TEST_CASE(asynchronous_rounds_and_staleness_come_from_events_and_histograms) {
  const std::string stages =
      R"("staleness":[{"mean":3,"max":4,"histogram":[0,0,1,2,1]},{"mean":0,"max":0,"histogram":[4]},null])";
  const auto run = read_figures(
      "", {R"({"step":0,"time":10,"train_loss":1,"seconds":2,)" + stages + "}"},
      {R"({"event":"member_averaged","stage":0,"step":0,"peer":"a","took_ms":500,"stalled_ms":250})",
       R"({"event":"member_averaged","stage":0,"step":0,"peer":"b","took_ms":250,"stalled_ms":500})",
       R"({"event":"member_averaged","stage":1,"step":0,"peer":"c","took_ms":1000,"stalled_ms":1000})",
       R"({"event":"admitted","stage":1,"step":0,"took_ms":9000,"stalled_ms":9000})"});
  BOOST_TEST(run.staleness.value() == 1.5);
  BOOST_TEST(run.round_seconds.value() == 0.5);
  BOOST_TEST(run.stall_seconds.value() == 0.5);
}

BOOST_AUTO_TEST_CASE(a_synchronous_step_stalls_from_its_last_round_to_its_close) {
  const auto run = read_figures(
      "", {step(0, 10, 1), step(1, 12, 1)},  // of 2 s each
      {R"({"event":"averaged","stage":0,"step":0,"round":1,"took_ms":250})",
       R"({"event":"averaged","stage":1,"step":0,"round":2,"took_ms":500})",
       R"({"event":"stage_averaged","stage":0,"step":0,"peers":2,"since_open_ms":1500,"overlapped":false})",
       R"({"event":"stage_averaged","stage":1,"step":0,"peers":2,"since_open_ms":1750,"overlapped":false})"});
  BOOST_TEST(run.stall_seconds.value() == 2 - (1.75 - 0.5));
  BOOST_TEST(run.round_seconds.value() == 0.375);
  BOOST_TEST(!run.staleness.has_value());
}

BOOST_AUTO_TEST_CASE(a_round_beside_the_next_step_stalls_nobody) {
  const auto run = read_figures(
      "", {step(0, 10, 1)},
      {R"({"event":"averaged","stage":0,"step":0,"round":1,"took_ms":250})",
       R"({"event":"stage_averaged","stage":0,"step":0,"peers":2,"since_open_ms":1500,"overlapped":true})"});
  BOOST_TEST(!run.stall_seconds.has_value());
  BOOST_TEST(run.round_seconds.value() == 0.25);
}

BOOST_AUTO_TEST_CASE(a_run_that_left_nothing_has_no_figures) {
  for (const char* summary : {"", "[]", "{\"seconds\":\"x\",\"tokens_per_second\":null}"}) {
    const auto run = read_figures(summary, {"", "3", "{\"step\":1}"}, {});
    BOOST_TEST(run.status == "");
    BOOST_TEST(!run.train_loss.has_value());
    BOOST_TEST(!run.seconds.has_value());
    BOOST_TEST(!run.tokens_per_second.has_value());
  }
}

BOOST_AUTO_TEST_CASE(mean_and_spread_are_those_of_a_sample) {
  BOOST_TEST(!spread({}).has_value());
  BOOST_TEST(spread({3}).value().deviation == 0);
  const auto of = spread({2, 4, 4, 4, 5, 5, 7, 9}).value();
  BOOST_TEST(of.mean == 5);
  BOOST_TEST(of.deviation * of.deviation == 32.0 / 7, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_row_counts_finished_runs_only) {
  const Plan plan = good(kSweep + "seeds=[1,2,3]\n[axes]\noptimizer.beta1=[0.5, 0.9]\n");
  Figures figures;
  figures["beta1-0.5_seed-1"] = finished(2);
  figures["beta1-0.5_seed-2"] = finished(4);
  figures["beta1-0.5_seed-3"] = finished(100);
  figures["beta1-0.5_seed-3"].status = "failed";
  figures["beta1-0.5_seed-3"].reason = "it, \"diverged\"";
  const auto rows = make_rows(plan, figures);
  BOOST_REQUIRE_EQUAL(rows.size(), 2u);
  BOOST_TEST(rows[0].finished == 2u);
  BOOST_TEST(rows[0].runs == 3u);
  BOOST_TEST(rows[0].columns[1].value().mean == 3);
  BOOST_TEST(!rows[1].columns[1].has_value());

  BOOST_TEST(
      to_markdown(plan, rows) ==
      R"(| setting   | runs | train loss | validation loss | seconds | tokens/s | retries | staleness | round [s] | stall [s] | bytes/token |
|-----------|------|------------|-----------------|---------|----------|---------|-----------|-----------|-----------|-------------|
| beta1=0.5 | 2/3  | -          | 3.0000 ± 1.4142 | -       | -        | -       | -         | -         | -         | -           |
| beta1=0.9 | 0/3  | -          | -               | -       | -        | -       | -         | -         | -         | -           |
)");
  const std::string nothing(19, ',');
  BOOST_TEST(contains(to_csv(rows), "\nbeta1=0.5,3,2,,,3,1.4142135623730951" + nothing + "\n"));
  const std::string runs = runs_csv(plan, figures);
  BOOST_TEST(contains(runs,
                      "\nbeta1-0.5_seed-1,beta1=0.5,1,finished,,2,,,,,,,,,,"
                      "optimizer.beta1=0.5 run.seed=1\n"));
  BOOST_TEST(contains(runs, ",failed,,100,,,,,,,,,\"it, \"\"diverged\"\"\","));
  BOOST_TEST(contains(runs, "\nbeta1-0.9_seed-2,beta1=0.9,2,not run,,,,,,,,,,,,"));
  const std::string json = to_json(plan, figures);
  BOOST_TEST(contains(json, "\"deviation\": 1.4142135623730951"));
  BOOST_TEST(contains(json, "\"reason\": \"it, \\\"diverged\\\"\""));
}

BOOST_AUTO_TEST_CASE(bytes_at_boundaries_are_those_of_the_steps_by_token) {
  auto line = [](int step, int tokens, int bytes, const std::string& loss) {
    return fmt::format(
        R"({{"step":{},"time":{},"train_loss":{},"tokens":{},"bytes_sent":{{"activations":{},"gradients":99}}}})",
        step, 10 + step, loss, tokens, bytes);
  };
  // The last line is of the final validation, which trains nothing.
  const auto run = read_figures(
      "", {line(0, 100, 400, "3"), line(1, 200, 800, "2"), line(2, 200, 5000, "null")}, {});
  BOOST_TEST(run.bytes_per_token.value() == 6);
  BOOST_TEST(!read_figures("", {step(0, 10, 1)}, {}).bytes_per_token.has_value());
}

BOOST_AUTO_TEST_CASE(a_target_is_reached_between_two_validations) {
  auto line = [](int step, int tokens, double loss) {
    return fmt::format(R"({{"step":{},"time":{},"train_loss":9,"tokens":{},"validation_loss":{}}})",
                       step, 10 + step, tokens, loss);
  };
  const Texts metrics = {line(0, 100, 4), line(1, 200, 3), line(2, 300, 2), line(3, 400, 2.5)};
  auto until = [&](std::optional<double> target) {
    return read_figures("", metrics, {}, target).tokens_to_target;
  };
  BOOST_TEST(until(2.75).value() == 225);
  BOOST_TEST(until(3).value() == 200);
  BOOST_TEST(until(5).value() == 100);  // nothing is known of what was before
  BOOST_TEST(!until(1.5).has_value());
  BOOST_TEST(!until({}).has_value());
}

BOOST_AUTO_TEST_CASE(differences_have_the_interval_of_their_mean) {
  BOOST_TEST(!paired({}).has_value());
  BOOST_TEST(!paired({0.5}).value().half_width.has_value());
  const auto of = paired({1, 2, 3}).value();
  BOOST_TEST(of.seeds == 3u);
  BOOST_TEST(of.mean == 2);
  // Student's t of 2 degrees of freedom: 4.3027.
  BOOST_TEST(of.half_width.value() == 4.3027 / std::sqrt(3), boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(settings_are_compared_with_their_baseline_seed_by_seed) {
  const Plan plan = good(
      "[sweep]\nbase=\"b.toml\"\nseeds=[1,2]\nbaseline=\"none\"\ntarget_loss=1.5\n"
      "[axes]\noptimizer.beta1=[0.5, 0.9]\n"
      "[[variant]]\nname=\"int8\"\nwire.activations=\"int8\"\n"
      "[[variant]]\nname=\"none\"\nseeds=[1,2,3]\n");
  Figures figures;
  figures["int8_beta1-0.9_seed-1"] = finished(2.5);
  figures["int8_beta1-0.9_seed-2"] = finished(3.75);
  figures["none_beta1-0.9_seed-1"] = finished(2);
  figures["none_beta1-0.9_seed-2"] = finished(3);
  figures["none_beta1-0.9_seed-3"] = finished(99);
  figures["none_beta1-0.5_seed-1"] = finished(88);
  const auto rows = make_rows(plan, figures);
  BOOST_REQUIRE_EQUAL(rows.size(), 4u);
  BOOST_TEST(rows[1].setting == "int8 beta1=0.9");
  BOOST_TEST(rows[1].difference.value().mean == 0.625);
  BOOST_TEST(rows[1].difference.value().seeds == 2u);
  for (const size_t i : {0, 2, 3}) BOOST_TEST(!rows[i].difference.has_value());

  const std::string markdown = to_markdown(plan, rows);
  BOOST_TEST(contains(markdown, "| tokens to 1.5 | loss - none's (95 %) |"));
  BOOST_TEST(contains(markdown, "| +0.6250 ± 1.5883 "));
  BOOST_TEST(contains(to_csv(rows), ",0.625,1.588"));
  const std::string json = to_json(plan, figures);
  BOOST_TEST(contains(json, R"("baseline": "none")"));
  BOOST_TEST(contains(json, R"("target_loss": 1.5)"));
  BOOST_TEST(contains(json, R"("seeds": 2)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::sweep
