/// Plan files: what they say, and what is said of wrong ones.
#include "apps/plan/plan_file.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "apps/plan/search.h"

namespace swarm::plan {
namespace {

const std::string kDevice = "[[devices]]\nname = \"a\"\nflops_per_s = 1e12\n";

std::string errors(const std::string& text) { return parse_plan_file(text, "p.toml").text(); }
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(planner_file)

BOOST_AUTO_TEST_CASE(a_file_is_read_whole) {
  const auto loaded = parse_plan_file(
      "[plan]\ntokens = 1e9\nmode = \"background\"\nbatch = 32\nbackward = \"recompute\"\n"
      "averaging = \"fp16\"\n[model]\nlayers = 6\nwidth = 64\nheads = 2\n"
      "[search]\nbest = \"money\"\nstages = [2, 3]\nmicrobatch = [4]\nin_flight = [2]\n"
      "codecs = [\"bf16\"]\n[reference]\nflops_per_s = 1e15\ncount = 8\n" +
          kDevice + "count = 5\nrtt_s = 0.2\nup_bytes_per_s = 1e6\n",
      "p.toml");
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  const PlanInput& input = *loaded.input;
  BOOST_TEST((input.job.mode == Mode::kBackground));
  BOOST_TEST((input.job.backward == tensor::BackwardPolicy::kRecompute));
  BOOST_TEST((input.job.averaging == tensor::Codec::kFp16));
  BOOST_TEST(input.job.batch == 32u);
  BOOST_TEST(input.job.model.layers == 6);
  BOOST_TEST((input.search.best == Goal::kMoney));
  BOOST_TEST(input.search.stages.size() == 2u);
  BOOST_TEST((input.search.codecs.front() == tensor::Codec::kBf16));
  BOOST_TEST(input.devices.front().count == 5u);
  BOOST_TEST(input.devices.front().rtt_s == 0.2);
  BOOST_REQUIRE(input.reference);
  BOOST_TEST(input.reference->count == 8u);
}

BOOST_AUTO_TEST_CASE(an_experiment_gives_the_model_and_the_plan_overrules_it) {
  const auto file = std::string(SWARM_CONFIG) + "/plan/p.toml";
  const auto loaded =
      parse_plan_file("[plan]\nexperiment = \"../slow_link.toml\"\nbatch = 32\n" + kDevice, file);
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  BOOST_TEST((loaded.input->job.mode == Mode::kBackground));
  BOOST_TEST(loaded.input->job.batch == 32u);
  BOOST_TEST(loaded.input->job.model.width == 256);
  BOOST_TEST(loaded.input->search.microbatch.front() == 4u);
  const auto none = parse_plan_file("[plan]\nexperiment = \"none.toml\"\n" + kDevice, file);
  BOOST_TEST(has(none.text(), "plan.experiment"));
}

BOOST_AUTO_TEST_CASE(all_errors_are_told_with_their_places) {
  const auto text = errors(
      "[plan]\nmode = \"backgroud\"\nbatch = 0\n[serach]\n[search]\nmicrobatches = [1]\n"
      "[[devices]]\nname = \"a\"\nflops_per_s = -1\n[[devices]]\ncount = 99999\n");
  for (const char* part :
       {"p.toml:2:", "did you mean \"background\"", "p.toml:3:", "plan.batch: expected an integer",
        "p.toml:4:", "did you mean \"search\"", "search.microbatches: unknown key",
        "devices.flops_per_s: expected a number", "devices.count: expected an integer"})
    BOOST_TEST(has(text, part), part << " in " << text);
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_double_is_told) {
  BOOST_TEST(has(errors("[plan]\n"), "devices: missing"));
  BOOST_TEST(has(errors("[[devices]]\nflops_per_s = 1e9\n"), "devices.name: expected a name"));
  BOOST_TEST(has(errors("[[devices]]\nname = \"a\"\n"), "swarm bench device"));
  BOOST_TEST(has(errors(kDevice + kDevice), "rename one"));
  BOOST_TEST(
      has(errors(kDevice + "[reference]\nname = \"r\"\n"), "reference.flops_per_s: missing"));
  BOOST_TEST(has(errors("devices = 3\n"), "expected [[devices]]"));
  BOOST_TEST(has(errors("[plan\n"), "not TOML"));
}

BOOST_AUTO_TEST_CASE(what_does_not_go_together_is_told) {
  BOOST_TEST(has(errors("[model]\nwidth = 65\n" + kDevice), "heads"));
  BOOST_TEST(has(errors("[plan]\nbatch = 7\n[search]\nmicrobatch = [2]\n" + kDevice),
                 "expected a divisor of plan.batch (7)"));
  BOOST_TEST(has(errors("[search]\nstages = [9]\n" + kDevice), "9 stages are more"));
  BOOST_TEST(has(errors("[search]\ncodecs = []\n" + kDevice), "at least one"));
  BOOST_TEST(has(errors("[[devices]]\nname = \"a\"\nflops_per_s = 1e9\ncount = 10000\n" + kDevice),
                 "10000 machines"));
}

BOOST_AUTO_TEST_CASE(every_example_has_a_plan) {
  size_t examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SWARM_CONFIG "/plan")) {
    const auto loaded = load_plan_file(entry.path().string());
    BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
    BOOST_TEST(!search(*loaded.input).plans.empty(), entry.path().string());
    ++examples;
  }
  BOOST_TEST(examples == 4u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::plan
