// The page and its charts, looked at as text.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <regex>

#include "apps/report/chart.h"
#include "apps/report/life_chart.h"
#include "apps/report/page.h"
#include "apps/report/tables.h"

namespace swarm::report {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

bool has(const std::string& text, const std::string& part) { return count(text, part) > 0; }

Run long_run(int steps) {
  RunBuilder builder;
  for (int step = 0; step < steps; ++step) {
    const double loss = 2 + std::sin(step * 1.7);
    builder.take_metrics("{\"step\":" + std::to_string(step) + ",\"time\":" +
                         std::to_string(1000 + step) + ",\"train_loss\":" + std::to_string(loss) +
                         ",\"tokens_per_second\":50,\"seconds\":1,\"gradient_norm\":1.5," +
                         "\"live_peers\":[2," + std::to_string(1 + step % 2) + "]," +
                         "\"staleness\":[{\"mean\":1,\"max\":2,\"histogram\":[1,2]},null]}");
    if (step % 3 == 0)
      builder.take_event("{\"time\":" + std::to_string(1000 + step) +
                         ",\"event\":\"lost\",\"node\":\"n\",\"peer\":\"x\"}");
  }
  Run run = builder.finish();
  run.name = "long";
  return run;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ReportPageTest)

BOOST_AUTO_TEST_CASE(strangers_text_stays_text) {
  const std::string bad = "<script>alert('x')</script>\"><img src=x onerror=1>";
  RunBuilder builder;
  records::Event event = records::make_event(-1, -1, records::PeerLost{bad, bad});
  event.time_s = 5;
  event.node = bad;
  builder.take_event(to_json(event));
  builder.take_metrics(R"({"step":0,"time":5,"train_loss":2,"live_peers":[1]})");
  builder.note(bad);
  builder.status(bad);
  Run run = builder.finish();
  run.name = bad;
  run.settings["training.steps"] = bad;
  run.settings[bad] = bad;
  Run other = run;
  other.name = bad + "2";
  other.settings[bad] = bad + "3";
  const std::vector<Run> runs = {run, other};
  auto groups = group_runs(runs);
  groups[0].label = bad;
  const auto page = html_page(runs, groups);
  BOOST_TEST(count(page, "<script>") == 1u);
  BOOST_TEST(count(page, "</script>") == 1u);
  BOOST_TEST(!has(page, "<img"));
  BOOST_TEST(!has(page, "\"\">"));
  BOOST_TEST(has(page, "&lt;script&gt;alert(&#39;x&#39;)"));
}

BOOST_AUTO_TEST_CASE(a_page_loads_nothing) {
  const std::vector<Run> runs = {long_run(50)};
  const auto page = html_page(runs, group_runs(runs));
  const std::regex outside(R"((src|href|url|import)\s*[=(])");
  BOOST_TEST(!std::regex_search(page, outside));
  for (const char* word : {"fetch(", "XMLHttp", "innerHTML", "<link", "<img", "<iframe"})
    BOOST_TEST(!has(page, word), word);
  BOOST_TEST(has(page, "default-src 'none'"));
  BOOST_TEST(has(page, "prefers-color-scheme: dark"));
}

BOOST_AUTO_TEST_CASE(the_size_of_a_page_does_not_grow_with_the_steps) {
  const std::vector<Run> some = {long_run(5000)}, many = {long_run(40000)};
  const size_t small = html_page(some, group_runs(some)).size();
  const size_t large = html_page(many, group_runs(many)).size();
  BOOST_TEST(large < 600'000u);
  BOOST_TEST(large < small + small / 5);
}

BOOST_AUTO_TEST_CASE(a_run_without_a_step_has_a_page) {
  const std::vector<Run> runs = {RunBuilder().finish()};
  const auto page = html_page(runs, group_runs(runs));
  BOOST_TEST(has(page, "no step was closed yet"));
  BOOST_TEST(!has(page, "<svg"));
  BOOST_TEST(!has(page, "Staleness"));
}

BOOST_AUTO_TEST_CASE(curves_are_where_their_numbers_are) {
  const auto svg = line_chart({"t", "x", "y"}, {{"a", 0, {{{0, 0}, {50, 10}, {100, 5}}}}});
  // Plot: 80 to 760 across, 30 to 260 down.
  BOOST_TEST(has(svg, "d=\"M80.0,260.00L420.0,30.00L760.0,145.00\""));
  BOOST_TEST(!has(svg, "class=\"band\""));
  BOOST_TEST(count(svg, "<circle") == 3u);
  BOOST_TEST(line_chart({"t", "x", "y"}, {{"a", 0, {{}}}}).empty());
}

BOOST_AUTO_TEST_CASE(a_curve_is_dashed_where_not_all_runs_reach) {
  const auto svg =
      line_chart({"t", "x", "y"}, {{"a", 0, {{{0, 0}, {50, 4}, {100, 8}}, {{0, 0}, {50, 6}}}}});
  BOOST_TEST(has(svg, "class=\"mean\" d=\"M80.0,260.00L420.0,116.25\""));
  BOOST_TEST(has(svg, "class=\"mean part\" d=\"M420.0,116.25L760.0,30.00\""));
  BOOST_TEST(count(svg, "class=\"band\"") == 1u);
}

BOOST_AUTO_TEST_CASE(few_values_far_above_are_cut_off_and_told) {
  std::vector<Point> points;
  for (int i = 0; i < 200; ++i) points.push_back({double(i), i == 100 ? 1e6 : 1.0 + i % 2});
  const auto svg = line_chart({"t", "x", "y"}, {{"a", 0, {points}}});
  BOOST_TEST(has(svg, "data-y1=\"5\""));
  BOOST_TEST(has(svg, "values up to 1e+06 are cut off"));
}

BOOST_AUTO_TEST_CASE(a_life_shows_peers_and_counts_events_that_fall_together) {
  const auto svg = life_chart(long_run(5000));
  BOOST_TEST(has(svg, ">stage 0<"));
  BOOST_TEST(has(svg, ">stage 1<"));
  BOOST_TEST(has(svg, ">lost<"));
  BOOST_TEST(has(svg, ">1667<"));  // events of the row
  BOOST_TEST(has(svg, "more</title>"));
  BOOST_TEST(count(svg, "class=\"mark\"") <= kPlotColumns / 4);
}

BOOST_AUTO_TEST_CASE(a_life_of_many_stages_says_what_it_leaves_out) {
  std::string peers = "1";
  for (int i = 1; i < 40; ++i) peers += ",1";
  RunBuilder builder;
  builder.take_metrics("{\"step\":0,\"time\":5,\"live_peers\":[" + peers + "]}");
  BOOST_TEST(has(life_chart(builder.finish()), "8 more stages are left out"));
}

BOOST_AUTO_TEST_CASE(bars_are_shares_of_the_updates) {
  const auto svg = bars("stage 3", {30, 0, 10, 0, 0}, 3);
  BOOST_TEST(has(svg, "0: 30 updates, 75.0 %"));
  BOOST_TEST(has(svg, "2: 10 updates, 25.0 %"));
  BOOST_TEST(count(svg, "<rect") == 3u);
  BOOST_TEST(bars("x", {0, 0}, 0).empty());
}

BOOST_AUTO_TEST_CASE(several_seeds_have_a_row_of_their_mean) {
  std::vector<Run> runs = {long_run(10), long_run(20)};
  runs[1].name = "longer";
  const auto table = summary_table(runs, {{"both", {0, 1}}});
  BOOST_TEST(has(table, "<td>15<small>10 to 20</small></td>"));
  BOOST_TEST(count(table, "<tr") == 4u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::report
