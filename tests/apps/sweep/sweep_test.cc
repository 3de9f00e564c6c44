// What `swarm sweep` decides before its runs: the plan and the state.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>

#include "apps/sweep/sweep_parts.h"
#include "apps/sweep/sweep_state.h"
#include "tests/apps/sweep/plans.h"

namespace swarm::sweep {
namespace {

/// The only error of `text` after the two lines of kSweep.
std::string only(const std::string& text) {
  const auto result = parse(kSweep + text);
  BOOST_REQUIRE(!result.ok());
  BOOST_TEST_INFO(result.text());
  BOOST_REQUIRE_EQUAL(result.errors.size(), 1u);
  return result.errors[0].text();
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> out;
  for (const auto& cell : plan.cells) out.push_back(cell.name);
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(SweepPlan)

BOOST_AUTO_TEST_CASE(a_sweep_without_settings_is_one_run_of_its_base) {
  const Plan plan = good(kSweep);
  BOOST_TEST(plan.name == "lr");
  BOOST_TEST(plan.base == "dir/base.toml");
  BOOST_TEST(names(plan) == (Texts{"base_seed-1"}));
  BOOST_TEST(plan.cells[0].overrides == (Texts{"run.seed=1"}));
}

BOOST_AUTO_TEST_CASE(axes_variants_and_seeds_are_multiplied_seed_by_seed) {
  const Plan plan = good(
      "[sweep]\nname=\"x\"\nbase=\"b.toml\"\nseeds=[7, 8]\n[set]\ntraining.steps=5\n"
      "[axes]\n\"optimizer.beta1\"=[0.9, 0.99]\nwire.gradients=[\"none\", \"bf16\"]\n"
      "[[variant]]\nname=\"plain\"\n[[variant]]\nname=\"slow\"\nnodes.a.delay_s=0.5\n"
      "training.steps=6\n");
  BOOST_TEST(plan.name == "x");
  BOOST_REQUIRE_EQUAL(plan.settings.size(), 8u);
  BOOST_REQUIRE_EQUAL(plan.cells.size(), 16u);
  BOOST_TEST(plan.settings[1].label == "plain beta1=0.9 gradients=bf16");
  BOOST_TEST(plan.cells[1].name == "plain_beta1-0.9_gradients-bf16_seed-7");
  BOOST_TEST(plan.cells[9].name == "plain_beta1-0.9_gradients-bf16_seed-8");
  BOOST_TEST(plan.cells[15].overrides ==
             (Texts{"nodes.a.delay_s=0.5", "training.steps=6", "optimizer.beta1=0.99",
                    "wire.gradients=\"bf16\"", "run.seed=8"}));
}

BOOST_AUTO_TEST_CASE(a_variant_may_have_seeds_of_its_own) {
  const Plan plan = good(kSweep +
                         "seeds=[1, 2]\n[[variant]]\nname=\"a\"\n"
                         "[[variant]]\nname=\"b\"\nseeds=[1, 5, 6]\n");
  BOOST_TEST(names(plan) == (Texts{"a_seed-1", "b_seed-1", "a_seed-2", "b_seed-5", "b_seed-6"}));
}

BOOST_AUTO_TEST_CASE(a_baseline_and_a_target_that_mean_nothing_are_refused) {
  const std::string variant = "[[variant]]\nname=\"none\"\n";
  BOOST_TEST(contains(only("baseline=\"nine\"\n" + variant), "there is no variant \"nine\""));
  BOOST_TEST(contains(only("baseline=\"none\"\n"), "there is no variant \"none\""));
  BOOST_TEST(contains(only("baseline=3\n" + variant), "sweep.baseline: expected the name"));
  for (const char* loss : {"0", "-1", "nan", "inf", "1000", "\"2\""})
    BOOST_TEST(contains(only("target_loss=" + std::string(loss) + "\n"),
                        "sweep.target_loss: expected a loss above 0"));
  BOOST_TEST(contains(only("[[variant]]\nname=\"a\"\nseeds=[]\n"),
                      "variant.seeds: expected at least one seed"));
  BOOST_TEST(good(kSweep + "target_loss=2\n").target_loss.value() == 2);
}

BOOST_AUTO_TEST_CASE(axes_that_end_alike_keep_their_whole_names) {
  const Plan plan = good(kSweep + "[axes]\nnodes.a.delay_s=[0.5]\nnodes.\"*\".delay_s=[1.0]\n");
  BOOST_TEST(plan.settings[0].label == "nodes.a.delay_s=0.5 nodes.*.delay_s=1.0");
  BOOST_TEST(config::is_name(plan.cells[0].name), plan.cells[0].name);
}

BOOST_AUTO_TEST_CASE(long_and_odd_settings_get_names_of_their_own) {
  const std::string value(60, 'y');
  const Plan plan = good(kSweep + "seeds=[9000000000000000]\n[axes]\ndata.train=[[\"" + value +
                         "1\"], [\"" + value + "2\"], [\"a/b\"], [\"a b\"]]\n");
  BOOST_REQUIRE_EQUAL(plan.cells.size(), 4u);
  for (const auto& cell : plan.cells) BOOST_TEST(config::is_name(cell.name), cell.name);
  BOOST_TEST(plan.cells[0].name != plan.cells[1].name);
  BOOST_TEST(plan.cells[2].name != plan.cells[3].name);
}

BOOST_AUTO_TEST_CASE(a_cell_is_another_when_any_key_of_its_experiment_is) {
  const auto hash = [](const std::string& text, const std::string& experiment) {
    return parse_plan(text, "f.toml", base(experiment)).plan->cells.at(0).hash;
  };
  const std::string first = hash(kSweep, kBase);
  BOOST_TEST(first == hash(kSweep, kBase));
  BOOST_TEST(first == hash(kSweep, kBase + "delay_s=0\n"));  // as a later version might add
  BOOST_TEST(first != hash(kSweep, kBase + "delay_s=1\n"));
  BOOST_TEST(first != hash(kSweep + "seeds=[2]\n", kBase));
  BOOST_TEST(first != hash(kSweep + "[set]\ntraining.steps=5\n", kBase));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SweepErrors)

BOOST_AUTO_TEST_CASE(a_key_that_the_experiment_does_not_have_is_named_in_the_sweep_file) {
  BOOST_TEST(only("[axes]\noptimizer.beta3 = [0.9, 0.99]\n") ==
             "dir/lr.toml:4:20: optimizer.beta3: unknown key; did you mean \"beta1\"?");
  BOOST_TEST(contains(only("[set]\nnodes.b.delay_s = 1\n"), "there is no node \"b\""));
  BOOST_TEST(contains(only("[[variant]]\nname=\"v\"\nmodel = 3\n"), "lr.toml:5:1: "));
}

BOOST_AUTO_TEST_CASE(a_value_that_does_not_fit_is_pointed_at) {
  const std::string error = only("[axes]\ntraining.steps = [10, -1, 20]\n");
  BOOST_TEST(contains(error, "lr.toml:4:23: training.steps: expected"), error);
  BOOST_TEST(contains(only("[set]\ntraining.steps = 1979-05-27\n"), "training.steps: expected"));
}

BOOST_AUTO_TEST_CASE(what_makes_no_runs_or_the_same_run_twice_is_refused) {
  BOOST_TEST(contains(only("[axes]\ntraining.steps = []\n"), "an axis without values"));
  BOOST_TEST(contains(only("[axes]\ntraining.steps = 5\n"), "expected a list of values"));
  BOOST_TEST(contains(only("[axes]\ntraining.steps = [5, 6, 5]\n"),
                      "4:25: axes.training.steps: "
                      "the value 5 is listed twice"));
  BOOST_TEST(contains(only("seeds = []\n"), "at least one seed"));
  BOOST_TEST(contains(only("seeds = [1, 2, 1]\n"), "the seed 1 is listed twice"));
  BOOST_TEST(contains(only("seeds = [-1]\n"), "sweep.seeds: expected an integer from 0"));
  BOOST_TEST(contains(only("[[variant]]\nname=\"v\"\n[[variant]]\nname=\"v\"\n"),
                      "lr.toml:6:6: variant.name: there is another variant \"v\""));
  BOOST_TEST(contains(only("[[variant]]\nname=\"a_b-1\"\n[[variant]]\nname=\"a_b-1.\"\n"
                           "[[variant]]\nname=\"a/b\"\n"),
                      "expected 1 to 64"));
}

BOOST_AUTO_TEST_CASE(unknown_parts_of_the_file_are_named) {
  BOOST_TEST(only("[axis]\n") ==
             "dir/lr.toml:3:2: axis: unknown section of a sweep; there are [sweep], [set], [axes] "
             "and [[variant]]; did you mean \"axes\"?");
  BOOST_TEST(contains(only("seed = [1]\n"), "sweep.seed: unknown key; did you mean \"seeds\"?"));
  BOOST_TEST(contains(only("[[variant]]\n"), "every [[variant]] has a name"));
  BOOST_TEST(contains(only("[variant]\nname=\"v\"\n"), "expected [[variant]]"));
  BOOST_TEST(contains(only("[set\n"), "not TOML"));
}

BOOST_AUTO_TEST_CASE(what_the_sweep_decides_itself_cannot_be_set) {
  BOOST_TEST(contains(only("[axes]\nrun.seed = [1]\n"), "is given by sweep.seeds"));
  for (const char* key : {"run.name", "run.folder", "run.id"})
    BOOST_TEST(contains(only("[set]\n" + std::string(key) + " = \"x\"\n"), "given by the sweep"));
  BOOST_TEST(contains(only("[axes]\ntraining.steps=[1]\n[[variant]]\nname=\"v\"\n"
                           "training.steps=2\n"),
                      "is an axis too"));
}

BOOST_AUTO_TEST_CASE(all_errors_come_at_once_and_each_only_once) {
  const auto result = parse(kSweep +
                            "seeds=[1,2]\n[axes]\ntraining.step=[1]\ntraining.batch=[8, 9]\n"
                            "[set]\nmodel.head=3\n");
  BOOST_REQUIRE_EQUAL(result.errors.size(), 3u);
  BOOST_TEST(result.errors[0].where.line == 5u);
  BOOST_TEST(result.errors[1].where.line == 6u);
}

BOOST_AUTO_TEST_CASE(a_base_that_is_missing_broken_or_without_nodes_is_refused) {
  BOOST_TEST(contains(parse("").text(), "sweep.base: missing"));
  BOOST_TEST(contains(parse("[sweep]\nbase = 3\n").text(), "expected an experiment file"));
  const auto missing = [](const std::string& text) {
    return parse_plan(text, "/nowhere/s.toml",
                      [](const auto& path, const auto& overrides) {
                        return config::load_experiment(path, overrides);
                      })
        .text();
  };
  BOOST_TEST(contains(missing(kSweep), "/nowhere/base.toml: cannot read"));
  BOOST_TEST(contains(parse_plan(kSweep, "s.toml", base("[data]\ntrain=[\"x\"]\n")).text(),
                      "lists no [[nodes]]"));
  BOOST_TEST(contains(load_plan("/nowhere/s.toml").text(), "cannot read the file"));
}

BOOST_AUTO_TEST_CASE(the_papers_sweeps_can_be_planned_in_both_sizes) {
  size_t small = 0, full = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SWARM_CONFIG "/paper")) {
    const std::string name = entry.path().filename();
    if (name.find('_') == name.npos) continue;  // the experiments below them
    const auto result = load_plan(entry.path());
    BOOST_TEST(result.ok(), result.text());
    small += name.find("_small.toml") != name.npos;
    full += name.find("_full.toml") != name.npos;
  }
  BOOST_TEST(small >= 8u);
  BOOST_TEST(small == full);
}

BOOST_AUTO_TEST_CASE(the_sweeps_of_boundaries_can_be_planned_and_have_a_speed_each) {
  std::map<std::string, size_t> settings;
  for (const auto& entry : std::filesystem::directory_iterator(SWARM_CONFIG "/quality")) {
    const std::string name = entry.path().filename();
    if (name == "base.toml") continue;
    const auto result = load_plan(entry.path());
    BOOST_REQUIRE_MESSAGE(result.ok(), result.text());
    settings[name] = result.plan->settings.size();
  }
  for (const std::string name : {"sync_4.toml", "async_4.toml", "sync_2.toml"}) {
    BOOST_TEST(settings[name] >= 4u);
    BOOST_TEST(settings["speed_" + name] == settings[name]);
  }
}

BOOST_AUTO_TEST_CASE(a_sweep_too_large_to_mean_is_refused_before_it_is_made) {
  std::string axes = "[axes]\n";
  for (const char* key : {"training.steps", "training.batch", "model.layers", "model.ffn",
                          "model.width", "model.heads", "node.threads", "checkpoint.keep"}) {
    axes += std::string(key) + "=[1";
    for (int i = 2; i < 200; ++i) axes += "," + std::to_string(i);
    axes += "]\n";
  }
  BOOST_TEST(contains(only(axes), "more than 10000 runs"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SweepProgress)

BOOST_AUTO_TEST_CASE(finished_cells_are_skipped_and_failed_ones_begin_anew_on_request_only) {
  const Plan plan = good(kSweep + "seeds=[1,2,3,4]\n");
  SweepState state;
  state["base_seed-1"].status = CellStatus::kFinished;
  state["base_seed-2"].status = CellStatus::kFailed;
  state["base_seed-3"].status = CellStatus::kUnfinished;
  auto action = [&](size_t cell, bool retry, bool has_run = true) {
    return static_cast<int>(next_action(state, plan.cells[cell], retry, has_run));
  };
  BOOST_TEST(action(0, false, /*has_run=*/false) == static_cast<int>(Action::kBegin));
  for (const bool retry : {false, true}) {
    BOOST_TEST(action(0, retry) == static_cast<int>(Action::kSkip));
    BOOST_TEST(action(1, retry) == static_cast<int>(retry ? Action::kBegin : Action::kSkip));
    BOOST_TEST(action(2, retry) == static_cast<int>(Action::kContinue));
    BOOST_TEST(action(3, retry) == static_cast<int>(Action::kBegin));
  }
}

BOOST_AUTO_TEST_CASE(the_state_reads_back_and_damage_is_refused) {
  SweepState state;
  state["a_seed-1"] = {CellStatus::kFailed, "12ab", "2026-11-21T03-10-49", "x", "it \"broke\""};
  state["b"] = {};
  const auto read = parse_state(to_json(state));
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(to_json(*read) == to_json(state));
  BOOST_TEST(read->at("a_seed-1").reason == "it \"broke\"");
  for (const char* text :
       {"", "[]", "{}", "{\"cells\":[]}", "{\"cells\":{\"a\":{}}}", "{\"cells\":{\"a\":3}}",
        "{\"cells\":{\"../a\":{\"status\":\"failed\"}}}",
        "{\"cells\":{\"a\":{\"status\":\"failed\",\"folder\":\"../../b\"}}}"})
    BOOST_TEST(!parse_state(text).ok(), text);
}

BOOST_AUTO_TEST_CASE(results_of_other_settings_are_not_taken_for_these) {
  const Plan plan = good(kSweep + "seeds=[1,2]\n");
  SweepState state;
  state["base_seed-1"] = {CellStatus::kFinished, plan.cells[0].hash, "", "", ""};
  BOOST_TEST(changed_cells(state, plan) == "");
  state["base_seed-2"] = {CellStatus::kFinished, plan.cells[0].hash, "", "", ""};
  state["removed_seed-1"] = {};
  BOOST_TEST(changed_cells(state, plan) == "  base_seed-2 (finished)\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::sweep
