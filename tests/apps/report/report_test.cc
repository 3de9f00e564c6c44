// From lines to runs, groups, columns and CSV.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "apps/report/columns.h"
#include "apps/report/csv.h"
#include "apps/report/groups.h"
#include "apps/report/read_run.h"
#include "apps/report/run.h"
#include "apps/report/text.h"
#include "records/summary.h"

namespace swarm::report {
namespace {

std::string metrics(int step, double time_s, double loss, const std::string& more = "") {
  return "{\"step\":" + std::to_string(step) + ",\"time\":" + std::to_string(time_s) +
         ",\"train_loss\":" + std::to_string(loss) +
         ",\"tokens\":" + std::to_string((step + 1) * 100) +
         ",\"tokens_per_second\":50.0,\"seconds\":2.0,\"live_peers\":[2,1],\"slots\":4,"
         "\"attempts\":4" +
         more + "}";
}

template <class T>
std::string event(double time_s, const T& fields) {
  records::Event line = records::make_event(-1, -1, fields);
  line.time_s = time_s;
  line.node = "n";
  return to_json(line);
}

config::Experiment experiment(const std::string& more) {
  auto loaded = config::parse_experiment(
      more +
          "\n[data]\ntrain=[\"x\"]\n[pipeline]\nstages=1\n[[nodes]]\nname=\"a\"\nstages=[0]\n"
          "trainer=true\n",
      "x.toml");
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  return *loaded.experiment;
}

Run run_with(const std::string& name, const std::string& settings) {
  RunBuilder builder;
  builder.take_settings(experiment(settings));
  Run run = builder.finish();
  run.name = name;
  return run;
}

bool says(const Run& run, const std::string& words) {
  for (const auto& note : run.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ReportRunTest)

BOOST_AUTO_TEST_CASE(the_clock_starts_when_the_first_step_is_opened) {
  RunBuilder builder;
  builder.take_event(event(90, records::NodeStarted{}));
  builder.take_metrics(metrics(0, 102, 5));
  builder.take_metrics(metrics(1, 104, 4));
  const Run run = builder.finish();
  BOOST_TEST(run.clock.seconds(104) == 4.0);
  BOOST_TEST(run.clock.seconds(90) == -10.0);
  BOOST_TEST(totals(run).seconds == 4.0);
}

BOOST_AUTO_TEST_CASE(the_clock_stands_still_between_a_run_and_its_resumption) {
  RunBuilder builder;
  builder.take_metrics(metrics(1, 1007, 4));
  builder.take_metrics(metrics(2, 1012, 4));
  builder.take_metrics(metrics(0, 102, 5));
  builder.take_event(event(103, records::NodeLeft{}));
  builder.take_event(event(1003, records::RunResumed{}));
  const Run run = builder.finish();
  BOOST_TEST(run.clock.idle_s() == 900.0);
  BOOST_TEST(run.clock.seconds(103) == 3.0);
  BOOST_TEST(run.clock.seconds(1003) == 3.0);
  BOOST_TEST(run.clock.seconds(1007) == 7.0);
  BOOST_TEST(*totals(run).tokens_per_s == 20.0);  // 100 tokens from second 7 to second 12
  BOOST_TEST(says(run, "leaves out 900 s"));
}

BOOST_AUTO_TEST_CASE(totals_are_those_of_the_lines) {
  RunBuilder builder;
  builder.take_metrics(metrics(0, 102, 5, ",\"validation_loss\":5.5"));
  builder.take_metrics(R"({"step":1,"time":104,"train_loss":4,"slots":4,"attempts":7})");
  builder.take_metrics(R"({"step":2,"time":105,"train_loss":null,"validation_loss":4.5})");
  builder.take_event(event(103, records::TimelineAct{0, "kill"}));
  builder.take_event(event(103, records::ChaosAct{3, "pause", false}));
  builder.take_event(event(103, records::ChaosAct{{}, "resume", false}));
  builder.take_event(event(103, records::ProcessLost{"exit code 1"}));
  builder.take_event(event(103, records::Restored{"own_snapshot", {}, 8, {}}));
  builder.take_event(event(103, records::CoordinatorActive{1}));
  const auto t = totals(builder.finish());
  BOOST_TEST(t.steps_closed == 2u);
  BOOST_TEST(*t.train_loss == 4.0);
  BOOST_TEST(*t.validation_loss == 4.5);
  BOOST_TEST(t.retries == 3u);
  BOOST_TEST(t.kills == 1u);
  BOOST_TEST(t.pauses == 1u);
  BOOST_TEST(t.crashes == 1u);
  BOOST_TEST(t.recoveries == 1u);
  BOOST_TEST(t.coordinators == 1u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_left_out_and_told) {
  RunBuilder builder;
  builder.take_metrics(metrics(3, 110, 3));
  builder.take_metrics(metrics(0, 102, 5));
  builder.take_metrics(metrics(3, 111, 9));
  builder.take_metrics("{\"step\":");
  builder.take_event("nonsense");
  builder.take_event(R"({"time":1e300,"event":"lost"})");
  const Run run = builder.finish();
  BOOST_REQUIRE(run.lines.size() == 2u);
  BOOST_TEST(*run.lines[1].train_loss == 3.0);
  BOOST_TEST(says(run, "1 lines of metrics.jsonl repeat a step"));
  BOOST_TEST(says(run, "1 lines of metrics.jsonl cannot be read"));
  BOOST_TEST(says(run, "2 lines of events.jsonl cannot be read"));
}

BOOST_AUTO_TEST_CASE(histograms_of_staleness_add_up) {
  RunBuilder builder;
  builder.take_metrics(
      metrics(0, 1, 5, R"(,"staleness":[{"mean":1,"max":2,"histogram":[1,0,2]},null])"));
  builder.take_metrics(
      metrics(1, 2, 5, R"(,"staleness":[{"mean":0,"max":1,"histogram":[4,1]},null])"));
  const Run run = builder.finish();
  BOOST_REQUIRE(run.staleness.stages.size() == 2u);
  BOOST_TEST(run.staleness.stages[0] == (std::vector<uint64_t>{5, 1, 2}));
  BOOST_TEST(run.staleness.stages[1].empty());
}

BOOST_AUTO_TEST_CASE(however_a_run_ended_its_report_says_so) {
  char path[] = "/tmp/swarm-report-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(path) != nullptr);
  const std::string folder = path;
  std::ofstream(folder + "/metrics.jsonl") << metrics(0, 1, 5) << "\n";
  for (const char* status : {"finished", "not_durable", "failed", "interrupted", "delighted"}) {
    records::Summary summary;
    summary.status = status;
    std::ofstream(folder + "/summary.json") << to_json(summary);
    const auto run = read_run(folder);
    BOOST_REQUIRE(run.ok());
    BOOST_TEST(run->status == (records::parse_outcome(status) ? status : "not finished"));
  }
  std::filesystem::remove_all(path);
  BOOST_TEST(!records::parse_outcome("delighted").has_value());
  BOOST_TEST((records::parse_outcome("not_durable") == records::Outcome::kNotDurable));
}

BOOST_AUTO_TEST_CASE(a_torn_last_line_is_left_out_and_told) {
  char path[] = "/tmp/swarm-report-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(path) != nullptr);
  const std::string folder = std::string(path) + "/name/time";
  std::filesystem::create_directories(folder);
  BOOST_TEST(!read_run(folder).ok());
  std::ofstream(folder + "/metrics.jsonl") << metrics(0, 1, 5) << "\n\n"
                                           << std::string(1500000, '[') << "\n"
                                           << metrics(1, 2, 4) << "\n{\"step\":2,\"train_lo";
  const auto run = read_run(folder + "/");
  std::filesystem::remove_all(path);
  BOOST_REQUIRE(run.ok());
  BOOST_TEST(run->lines.size() == 2u);
  BOOST_TEST(says(*run, "1 lines of metrics.jsonl are longer than 1 MB"));
  BOOST_TEST(run->name == "name/time");
  BOOST_TEST(run->status == "not finished");
  BOOST_TEST(says(*run, "the last line of metrics.jsonl has no end"));
  BOOST_TEST(says(*run, "there is no events.jsonl"));
  BOOST_TEST(says(*run, "there is no config.toml"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ReportGroupsTest)

BOOST_AUTO_TEST_CASE(runs_that_differ_in_seeds_and_names_are_one_group) {
  const std::vector<Run> runs = {
      run_with("r0", "run.seed=1\nrun.name=\"a\""),
      run_with("r1", "run.seed=1\noptimizer.learning_rate=0.5"),
      run_with("r2", "run.seed=2\nchaos.seed=7\nrun.name=\"b\"\nrun.id=\"i\"")};
  const auto groups = group_runs(runs);
  BOOST_REQUIRE(groups.size() == 2u);
  BOOST_TEST(groups[0].runs == (std::vector<size_t>{0, 2}));
  BOOST_TEST(groups[1].runs == (std::vector<size_t>{1}));
  BOOST_TEST(groups[1].label == "learning_rate=0.5");
  BOOST_TEST(groups[0].label.find("(2 runs)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_label_groups_where_they_tell_them_apart) {
  const std::vector<Run> runs = {
      run_with("r0", "run.name=\"adamw\""),
      run_with("r1", "run.name=\"nag\"\noptimizer.learning_rate=0.5"),
      run_with("r2", "run.name=\"nag\"\noptimizer.learning_rate=0.5\nrun.seed=9")};
  const auto groups = group_runs(runs);
  BOOST_REQUIRE(groups.size() == 2u);
  BOOST_TEST(groups[0].label == "adamw");
  BOOST_TEST(groups[1].label == "nag (2 runs)");
}

BOOST_AUTO_TEST_CASE(groups_that_differ_in_much_bear_their_runs_names) {
  const std::vector<Run> runs = {
      run_with("r0", "run.name=\"x\""),
      run_with("r1",
               "run.name=\"x\"\nmodel.layers=2\nmodel.width=64\nmodel.heads=2\nmodel.ffn=9\n"
               "model.sequence=16")};
  const auto groups = group_runs(runs);
  BOOST_TEST(groups[0].label == "r0");
  BOOST_TEST(groups[1].label == "r1");
}

BOOST_AUTO_TEST_CASE(runs_with_unknown_settings_stay_alone) {
  std::vector<Run> runs(2);
  runs[0].name = "r0";
  runs[1].name = "r1";
  BOOST_TEST(group_runs(runs).size() == 2u);
  BOOST_TEST(differences(runs).empty());
}

BOOST_AUTO_TEST_CASE(differences_name_the_value_of_each_run) {
  const std::vector<Run> runs = {
      run_with("r0", "[[timeline]]\nat_step=3\naction=\"kill\"\nnode=\"a\""),
      run_with("r1", "run.seed=2")};
  const auto all = differences(runs);
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].key == "run.seed");
  BOOST_TEST(all[0].values == (std::vector<std::string>{"1", "2"}));
  BOOST_TEST(all[1].key == "timeline.0");
  BOOST_TEST(all[1].values[1] == "-");
  BOOST_TEST(group_runs(runs).size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ReportColumnsTest)

BOOST_AUTO_TEST_CASE(a_column_keeps_the_least_and_the_greatest) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({double(i), i == 537 ? 99.0 : i == 538 ? -7 : 1});
  const auto columns = band({points}, {0, 1000}, 10);
  BOOST_REQUIRE(columns.size() == 10u);
  BOOST_TEST(columns[5].high == 99.0);
  BOOST_TEST(columns[5].low == -7.0);
  BOOST_TEST(columns[5].mean == (98 + 99 - 7) / 100.0);
  BOOST_TEST(columns[5].x == 549.5);
  BOOST_TEST(columns[4].high == 1.0);
}

BOOST_AUTO_TEST_CASE(a_band_reaches_from_the_least_to_the_greatest_seed) {
  const auto columns = band({{{0, 1}, {1, 2}}, {{0, 3}, {1, 6}}}, {0, 1}, 100);
  BOOST_REQUIRE(columns.size() == 2u);
  BOOST_TEST(columns[1].mean == 4.0);
  BOOST_TEST(columns[1].low == 2.0);
  BOOST_TEST(columns[1].high == 6.0);
  BOOST_TEST(columns[1].runs == 2u);
}

BOOST_AUTO_TEST_CASE(a_run_that_ended_takes_no_part_and_one_between_two_points_does) {
  const auto columns = band({{{0, 0}, {10, 10}}, {{0, 0}, {5, 1}}}, {0, 10}, 11);
  BOOST_REQUIRE(columns.size() == 3u);
  BOOST_TEST(columns[1].runs == 2u);
  BOOST_TEST(columns[1].mean == 3.0);  // the first run has 5 there
  BOOST_TEST(columns[2].runs == 1u);
  BOOST_TEST(columns[2].mean == 10.0);
}

BOOST_AUTO_TEST_CASE(points_that_no_chart_can_show_are_ignored) {
  const auto columns = band({{{0, NAN}, {1, HUGE_VAL}, {2, 5}, {99, 5}}}, {0, 2}, 4);
  BOOST_REQUIRE(columns.size() == 1u);
  BOOST_TEST(columns[0].mean == 5.0);
  BOOST_TEST(band({}, {0, 1}, 4).empty());
}

BOOST_AUTO_TEST_CASE(a_dip_within_a_column_of_steps_is_kept) {
  const auto columns = steps({{0, 2}, {50.1, 1}, {50.2, 2}, {90, 2}}, {0, 100}, 10);
  BOOST_REQUIRE(columns.size() == 2u);
  BOOST_TEST(columns[1].index == 5u);
  BOOST_TEST(columns[1].low == 1.0);
  BOOST_TEST(columns[1].high == 2.0);
  BOOST_TEST(columns[1].last == 2.0);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_and_inside) {
  BOOST_TEST(ticks({0, 100}, 5) == (std::vector<double>{0, 20, 40, 60, 80, 100}));
  BOOST_TEST(ticks({-3, 3}, 3) == (std::vector<double>{-2, 0, 2}));
  BOOST_TEST(ticks({7, 7}, 3) == (std::vector<double>{7}));
  BOOST_TEST(ticks({1e15, 1e15 + 1}, 8).size() <= 17u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ReportTextTest)

BOOST_AUTO_TEST_CASE(numbers_are_short_and_plain) {
  BOOST_TEST(shortest(0.0003) == "0.0003");
  BOOST_TEST(shortest(-0.0) == "0");
  BOOST_TEST(fixed(-0.001, 1) == "0.0");
  BOOST_TEST(fixed(NAN, 1) == "-");
  BOOST_TEST(grouped(1234567) == "1,234,567");
  BOOST_TEST(grouped(-999) == "-999");
}

BOOST_AUTO_TEST_CASE(texts_are_cut_between_characters) {
  BOOST_TEST(clip("a\xc3\xa9", 2) == "a...");
  BOOST_TEST(clip("abc", 3) == "abc");
}

BOOST_AUTO_TEST_CASE(a_cell_is_quoted_and_is_no_formula) {
  BOOST_TEST(csv_cell("plain") == "plain");
  BOOST_TEST(csv_cell("a,\"b\"") == "\"a,\"\"b\"\"\"");
  BOOST_TEST(csv_cell("=1+1") == "'=1+1");
}

BOOST_AUTO_TEST_CASE(csv_has_every_line_of_every_run) {
  RunBuilder builder;
  builder.take_settings(experiment("run.seed=5"));
  builder.take_metrics(
      metrics(0, 102, 5, R"(,"staleness":[{"mean":1.5,"max":2,"histogram":[0,1,1]},null])"));
  builder.take_metrics(R"({"step":1,"train_loss":null,"validation_loss":4.5})");
  std::vector<Run> runs = {builder.finish()};
  runs[0].name = "q/1";
  std::string text;
  write_csv(runs, {{"g", {0}}}, [&](const std::string& part) { text += part; });
  BOOST_TEST(text.substr(text.find('\n') + 1) ==
             "q/1,g,5,0,2,5,,50,,100,4,4,2 1,1.5 -,2 -\n"
             "q/1,g,5,1,,,4.5,,,0,0,0,,,\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::report
