#include "records/metrics.h"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "records/summary.h"
#include "records/token_rate.h"

using namespace swarm;
using namespace swarm::records;

BOOST_AUTO_TEST_SUITE(records_metrics)

StepMetrics some_line() {
  StepMetrics line;
  line.step = 3;
  line.time_s = 1795230649.5;
  line.train_loss = 2.5;
  line.tokens = 4096;
  line.tokens_per_second = 512;
  line.seconds = 2;
  line.live_peers = {2, 1};
  line.bytes_sent = {1, 2, 3, 4};
  line.slots = 8;
  line.attempts = 9;
  line.term = 7;
  line.staleness = {StageStaleness{{1, 2}, 0.75, 1}, std::nullopt};
  return line;
}

BOOST_AUTO_TEST_CASE(a_line_is_read_as_it_was_written) {
  const std::string text = to_json(some_line());
  BOOST_TEST(text.find("\"gradient_norm\":null") != text.npos);
  BOOST_TEST(
      text.find("\"bytes_sent\":{\"control\":1,\"gradients\":2,\"activations\":3,\"state\":4}") !=
      text.npos);
  const auto back = parse_metrics(text);
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST(to_json(*back) == text);
  BOOST_TEST(*back->tokens_per_second == 512);
  BOOST_TEST(!back->gradient_norm.has_value());
  BOOST_TEST(back->bytes_sent.state == 4u);
  BOOST_TEST(!back->staleness[1].has_value());
}

BOOST_AUTO_TEST_CASE(what_was_not_measured_is_null_and_not_zero) {
  StepMetrics line;
  line.train_loss = std::numeric_limits<double>::quiet_NaN();
  const std::string text = to_json(line);
  for (const char* part : {"\"train_loss\":null", "\"tokens_per_second\":null"})
    BOOST_TEST(text.find(part) != text.npos, part);
  BOOST_TEST(text.find("staleness") == text.npos);
  BOOST_TEST(!parse_metrics(text)->train_loss.has_value());
  const std::string summary = to_json(Summary());
  BOOST_TEST(summary.find("\"tokens_per_second\": null") != summary.npos);
  BOOST_TEST(!parse_summary(summary)->tokens_per_second.has_value());
}

BOOST_AUTO_TEST_CASE(a_line_of_another_kind_is_refused) {
  for (const char* bad : {"", "[]", "{}", R"({"step":-1})", R"({"step":"0"})", R"({"step":1e30})",
                          R"({"step":9000000000000000000})", R"({"step":1,"ti)"})
    BOOST_TEST(!parse_metrics(bad).has_value(), bad);
}

BOOST_AUTO_TEST_CASE(numbers_that_no_run_can_have_count_as_missing) {
  const auto line =
      parse_metrics(R"({"step":1,"train_loss":1e300,"time":"now","tokens":-5,"live_peers":[1,"x"],)"
                    R"("staleness":[{"mean":1},7,{"mean":0,"max":0,"histogram":[1,1]}]})");
  BOOST_REQUIRE(line.has_value());
  BOOST_TEST(!line->train_loss.has_value());
  BOOST_TEST(!line->time_s.has_value());
  BOOST_TEST(line->tokens == 0u);
  BOOST_TEST(line->live_peers.empty());
  BOOST_REQUIRE(line->staleness.size() == 3u);
  BOOST_TEST(!line->staleness[0].has_value());
  BOOST_TEST(!line->staleness[1].has_value());
  BOOST_TEST(line->staleness[2]->histogram == (std::vector<uint64_t>{1, 1}));
}

BOOST_AUTO_TEST_CASE(a_summary_is_read_as_it_was_written) {
  Summary summary;
  summary.status = "failed";
  summary.reason = "it \"broke\"";
  summary.train_loss = 2.25;
  summary.events = {{"lost", 3}};
  const auto back = parse_summary(to_json(summary));
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST(*back->reason == "it \"broke\"");
  BOOST_TEST(*back->train_loss == 2.25);
  BOOST_TEST(back->events.at("lost") == 3u);
  BOOST_TEST(!parse_summary("[]").has_value());
}

BOOST_AUTO_TEST_CASE(a_step_that_is_open_alone_has_its_own_rate) {
  TokenRate rate(1);
  BOOST_TEST(*rate.closed(1000, 2) == 500);
  BOOST_TEST(*rate.closed(1000, 4) == 250);
  BOOST_TEST(!rate.closed(1000, 0).has_value());
}

BOOST_AUTO_TEST_CASE(periods_that_close_in_a_burst_have_the_rate_of_them_all) {
  TokenRate rate(4);
  BOOST_TEST(*rate.closed(1000, 4) == 250);
  BOOST_TEST(*rate.closed(1000, 1e-5) < 501);  // and not 1e8
  BOOST_TEST(*rate.closed(1000, 4) < 376);
  rate.closed(1000, 1e-5);
  BOOST_TEST(*rate.closed(1000, 4) == 500, boost::test_tools::tolerance(1e-4));
  rate.clear();
  BOOST_TEST(*rate.closed(1000, 1) == 1000);
}

BOOST_AUTO_TEST_CASE(a_runs_rate_counts_recoveries_but_not_its_first_step) {
  RunRate rate;
  BOOST_TEST(!rate.tokens_per_second().has_value());
  rate.closed(10, 100);  // the first step took 10 s
  BOOST_TEST(!rate.tokens_per_second().has_value());
  rate.closed(14, 300);  // after a recovery
  rate.closed(12, 200);  // its line came late
  BOOST_TEST(*rate.tokens_per_second() == 50.0);
}

BOOST_AUTO_TEST_CASE(a_runs_rate_leaves_out_every_stop) {
  RunRate rate;
  for (int run = 0; run < 3; ++run)
    for (int step = 0; step < 10; ++step)
      rate.closed(run * 1000.0 + step, static_cast<uint64_t>(run * 1000 + step * 100));
  rate.resumed(1999.5);  // what is told may come in any order
  rate.resumed(999.5);
  BOOST_TEST(*rate.tokens_per_second() == 100.0);
}

BOOST_AUTO_TEST_CASE(closings_of_one_moment_count_together) {
  RunRate rate;
  for (uint64_t period = 1; period <= 8; ++period) rate.closed(1, period * 100);
  rate.closed(2, 900);
  BOOST_TEST(*rate.tokens_per_second() == 100.0);
}

BOOST_AUTO_TEST_SUITE_END()
