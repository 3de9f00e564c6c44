/// A swarm of real processes whose links are slow, late and change while it trains.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

constexpr int64_t kLateFrom = 10, kLateTo = 30;  // steps
constexpr double kDelay_s = 0.15;

/// tiny.toml with a slow pair from the start, and for a while a delay towards the last stage.
std::string write_config(const std::string& folder) {
  std::ostringstream text;
  text << std::ifstream(tiny_config()).rdbuf()
       << "\n[[paths]]\nfrom = \"s0-a\"\nto = \"s1-*\"\nbytes_per_s = 4e5\n"
       << "\n[[paths]]\nfrom = \"s0-*\"\nto = \"s1-*\"\ndelay_s = 0.03\n"
       << "\n[[timeline]]\nat_step = " << kLateFrom
       << "\naction = \"link\"\nnode = \"s0-*\"\nto = \"s1-*\"\ndelay_s = " << kDelay_s
       << "\n\n[[timeline]]\nat_step = " << kLateTo
       << "\naction = \"link\"\nnode = \"s0-*\"\nto = \"s1-*\"\ndelay_s = 0\n";
  std::ofstream(folder + "/links.toml") << text.str();
  return folder + "/links.toml";
}

/// When `step` was closed [unix s].
double closed_at(const RunFolder& run, int64_t step) {
  for (const auto& line : run.lines("metrics.jsonl"))
    if (line.value("step", int64_t{-1}) == step) return line.value("time", 0.0);
  BOOST_FAIL("step " << step << " is missing in metrics.jsonl");
  return 0;
}

BOOST_AUTO_TEST_SUITE(ShapedSwarm)

BOOST_AUTO_TEST_CASE(links_that_get_worse_while_it_trains_cost_time_and_no_sample) {
  TemporaryFolder folder;
  Process process({"run", write_config(folder.path()), "--set", "run.folder=" + folder.path(),
                   "--set", "training.steps=40"},
                  folder.path() + "/output.txt");
  const RunFolder run = newest_run(folder.path());
  BOOST_REQUIRE_MESSAGE(process.wait(std::chrono::seconds(60)) == 0, process.output());
  // The nodes know within 0.2 s; from then on no step is faster than the way to the last stage.
  const auto shaped = run.events("links_shaped");
  for (const char* node : {"s0-a", "s0-b", "s1-a", "s1-b", "seed", "trainer-a", "trainer-b"})
    BOOST_TEST(std::any_of(shaped.begin(), shaped.end(),
                           [&](const Json& event) { return event.value("node", "") == node; }),
               node << " has not followed");
  double late_since = 0;
  for (const auto& event : shaped)
    if (event.value("paths", 0) == 3) late_since = std::max(late_since, event.value("time", 0.0));
  int late_steps = 0;
  for (int64_t step = kLateFrom; step < kLateTo - 1; ++step) {
    if (closed_at(run, step) < late_since) continue;
    ++late_steps;
    const double took_s = closed_at(run, step + 1) - closed_at(run, step);
    BOOST_TEST(took_s >= kDelay_s * 0.95, "step " << step + 1 << " took " << took_s << " s");
  }
  BOOST_TEST(late_steps >= 3);
  Process audit({"audit", run.path()}, folder.path() + "/audit.txt");
  BOOST_TEST(audit.wait() == 0, audit.output());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
