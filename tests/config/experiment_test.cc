#include "config/experiment.h"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "config/schema.h"
#include "tests/support/config_texts.h"

namespace swarm::config {

using testing::bad;
using testing::contains;
using testing::good;
using testing::kMinimal;
using testing::only;

namespace {

std::string read(const std::string& name) {
  for (std::string prefix = ""; prefix.size() < 40; prefix += "../") {
    std::ifstream file(prefix + "config/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    if (!text.str().empty()) return text.str();
  }
  BOOST_FAIL("config/" << name << " not found above the working directory");
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ExperimentErrors)

BOOST_AUTO_TEST_CASE(an_unknown_key_is_named_with_its_place_and_the_nearest_key) {
  const auto error = only("[model]\nlayer = 4\n");
  BOOST_TEST(error.text() == "x.toml:4:1: model.layer: unknown key; did you mean \"layers\"?");
}

BOOST_AUTO_TEST_CASE(a_key_that_had_another_name_says_its_new_one) {
  BOOST_TEST(only("[node]\ndrain_limit_s = 60.0\n").text() ==
             "x.toml:4:1: node.drain_limit_s: is called node.grace_s now");
}

BOOST_AUTO_TEST_CASE(a_key_of_another_section_is_recognised) {
  BOOST_TEST(only("[training]\nlearning_rate = 1.0\n").suggestion == "optimizer.learning_rate");
  BOOST_TEST(bad("layers = 3\n" + kMinimal)[0].suggestion == "model.layers");
}

BOOST_AUTO_TEST_CASE(an_unknown_section_is_named) {
  const auto error = only("\n[optimiser]\nbeta1 = 0.9\n");
  BOOST_TEST(error.where.line == 4u);
  BOOST_TEST(error.suggestion == "optimizer");
}

BOOST_AUTO_TEST_CASE(a_wrong_type_says_what_was_expected_and_found) {
  const auto error = only("[model]\n  width = \"wide\"\n");
  BOOST_TEST(error.where.line == 4u);
  BOOST_TEST(error.where.column == 11u);
  BOOST_TEST(error.message == "expected an integer from 1 to 65536, found the string \"wide\"");
  BOOST_TEST(contains(only("[model]\nwidth = 3.5\n").message, "found the number 3.5"));
  BOOST_TEST(contains(only("[node]\nallow_plaintext = 1\n").message, "expected true or false"));
  BOOST_TEST(contains(only("[model]\nwidth = 1979-05-27\n").message, "date"));
}

BOOST_AUTO_TEST_CASE(a_node_may_leave_its_stage_to_the_swarm) {
  const std::string nodes = kMinimal +
                            "[model]\nlayers = 2\n[pipeline]\nstages = 2\n[[nodes]]\nname = \"t\"\n"
                            "trainer = true\n[[nodes]]\nname = \"a\"\nstages = [0]\n"
                            "[[nodes]]\nname = \"b\"\nstages = ";
  const std::vector<int32_t> any{actors::kAnyStage};
  for (const char* text : {"\"auto\"", "[\"auto\"]"}) {
    const auto e = good(nodes + text + "\n");
    BOOST_TEST((e.find("b")->stages == any));
    BOOST_TEST((to_node_options(e, "b", "").stages == any));
    BOOST_TEST(to_node_options(e, "b", "").training.min_peers == 2u);
    BOOST_TEST(contains(to_toml(e), "stages = \"auto\""));
    BOOST_TEST((good(to_toml(e)).find("b")->stages == any));
  }
  BOOST_TEST((good(nodes + "[1]\n", {"nodes.b.stages=auto"}).find("b")->stages == any));
  const auto many = good(nodes + "[1]\n[[nodes]]\nname = \"c\"\nstages = \"auto\"\n");
  BOOST_TEST(fingerprint(many) == fingerprint(good(nodes + "[1]\n")));
  BOOST_TEST(bad(nodes + "\"any\"\n")[0].key == "nodes.stages");
  BOOST_TEST(bad(nodes + "[-1]\n")[0].key == "nodes.stages");
  // One such node serves one stage.
  BOOST_TEST(
      bad(nodes + "\"auto\"\n", {"nodes.a.stages=auto", "training.min_peers_per_stage=2"})[0].key ==
      "nodes.stages");
}

BOOST_AUTO_TEST_CASE(a_value_out_of_range_is_refused) {
  BOOST_TEST(contains(only("[model]\nlayers = 0\n").message, "from 1 to 4096"));
  // A slot's stages are the bits of 64: more would end the coordinator.
  BOOST_TEST(only("[model]\nlayers = 65\n[pipeline]\nstages = 65\n").key == "pipeline.stages");
  BOOST_TEST(contains(only("[training]\nsteps = 99999999999\n").key, "training.steps"));
  BOOST_TEST(contains(only("[training]\nsteps = -1\n").key, "training.steps"));
  BOOST_TEST(only("[training]\ncontinue_after_s = 0\n").key == "training.continue_after_s");
  BOOST_TEST(only("[training]\npartition = \"go_on\"\n").key == "training.partition");
  BOOST_TEST(contains(only("[optimizer]\nlearning_rate = nan\n").key, "learning_rate"));
  BOOST_TEST(contains(only("[optimizer]\nlearning_rate = inf\n").key, "learning_rate"));
}

BOOST_AUTO_TEST_CASE(a_mistyped_choice_gets_the_nearest_one) {
  const auto error = only("[optimizer]\nschedule = \"cosin\"\n");
  BOOST_TEST(error.suggestion == "cosine");
  BOOST_TEST(contains(error.message, "one of \"constant\", \"cosine\""));
}

BOOST_AUTO_TEST_CASE(a_bit_that_turns_is_named_by_node_part_and_step) {
  good(kMinimal + "[faults]\nflip_bit = \"s1-a:gradient_sum:12\"\n");
  const auto error = only("[faults]\nflip_bit = \"s1-a:weights:12\"\n");
  BOOST_TEST(error.key == "faults.flip_bit");
  BOOST_TEST(error.message.find("gradient_sum") != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(how_many_are_under_way_is_a_number_or_auto) {
  BOOST_TEST(!good(kMinimal).base.trainer_options.max_in_flight.has_value());
  const auto six = good(kMinimal + "[trainer]\nmax_in_flight = 6\n");
  BOOST_TEST(six.base.trainer_options.max_in_flight.value() == 6u);
  for (const char* automatic : {"trainer.max_in_flight=auto", "trainer.max_in_flight=\"auto\""})
    BOOST_TEST(!good(kMinimal + "[trainer]\nmax_in_flight = 6\n", {automatic})
                    .base.trainer_options.max_in_flight.has_value());
  for (const char* wrong : {"0", "\"many\"", "1.5", "-1", "5000000000"}) {
    const auto error = only(std::string("[trainer]\nmax_in_flight = ") + wrong + "\n");
    BOOST_TEST(error.key == "trainer.max_in_flight");
    BOOST_TEST(error.message.find("or \"auto\"") != std::string::npos, error.message);
  }
}

BOOST_AUTO_TEST_CASE(what_could_never_begin_is_refused) {
  BOOST_TEST(only("[run]\nid = \"" + std::string(129, 'x') + "\"\n").key == "run.id");
  BOOST_TEST(only("[node]\nlisten = \"\"\n").key == "node.listen");
  for (const char* period : {"0", "-1", "0.01", "3601"})
    BOOST_TEST(only(std::string("[node]\npreemption_poll_s = ") + period + "\n").key ==
               "node.preemption_poll_s");
  BOOST_TEST(only("[links]\nsilence_limit_ms = 100\n").key == "links.silence_limit_ms");
  BOOST_TEST(only("[training]\nmin_peers = 2\n"
                  "[[nodes]]\nname = \"n\"\nstages = [0]\ntrainer = true\n")
                 .key == "training.min_peers");
}

BOOST_AUTO_TEST_CASE(a_device_is_checked_by_its_form) {
  const auto error = only("[node]\ndevice = \"gpu\"\n");
  BOOST_TEST(error.key == "node.device");
  BOOST_TEST(contains(error.message, "expected \"cpu\", \"cuda\" or \"cuda:N\""));
  const std::string node = "[[nodes]]\nname = \"n\"\nstages = [0]\ndevice = ";
  BOOST_TEST(only(node + "\"cuda:x\"\ntrainer = true\n").key == "nodes.device");
  const auto e = good(kMinimal + "[node]\ndevice = \"cuda\"\n" + node + "\"cuda:1\"\n" +
                      "[[nodes]]\nname = \"m\"\n[[nodes]]\nname = \"t\"\ntrainer = true\n");
  BOOST_TEST(to_node_options(e, "n", "runs/x").device == "cuda:1");
  BOOST_TEST(to_node_options(e, "m", "runs/x").device == "cuda");
}

BOOST_AUTO_TEST_CASE(an_array_item_of_the_wrong_type_is_pointed_at) {
  const auto error = only("[model]\nlayers_per_stage = [4,\n  \"four\"]\n");
  BOOST_TEST(error.where.line == 5u);
  BOOST_TEST(error.where.column == 3u);
}

BOOST_AUTO_TEST_CASE(all_errors_of_a_file_come_at_once_in_its_order) {
  const auto errors =
      bad("[model]\nlayer = 4\nwidth = \"x\"\n[data]\ntrain = [\"t\"]\nholdout = 0.9\n"
          "[wire]\ngradients = \"int9\"\n",
          {"links.max_links=many"});
  BOOST_REQUIRE_EQUAL(errors.size(), 5u);
  BOOST_TEST(errors[0].where.line == 2u);
  BOOST_TEST(errors[1].where.line == 3u);
  BOOST_TEST(errors[2].where.line == 6u);
  BOOST_TEST(errors[3].where.line == 8u);
  BOOST_TEST(errors[4].where.file == "--set links.max_links");
}

BOOST_AUTO_TEST_CASE(a_syntax_error_has_its_place) {
  const auto error = bad("[model]\nlayers = \n")[0];
  BOOST_TEST(error.where.line == 2u);
  BOOST_TEST(contains(error.message, "not TOML"));
}

BOOST_AUTO_TEST_CASE(a_rule_between_keys_is_reported_at_the_key) {
  const auto width = only("[model]\nheads = 4\nwidth = 30\n");
  BOOST_TEST(width.where.line == 5u);
  BOOST_TEST(width.key == "model.width");
  const auto batch = only("[training]\nbatch = 30\nmicrobatch = 8\nvalidation_samples = 8\n");
  BOOST_TEST(batch.where.line == 4u);
  BOOST_TEST(batch.message == "expected a multiple of training.microbatch = 8, found 30");
  BOOST_TEST(only("[pipeline]\nstages = 9\n").key == "pipeline.stages");
  BOOST_TEST(only("[dht]\nannounce_ttl_ms = 10\n").key == "dht.announce_ttl_ms");
}

BOOST_AUTO_TEST_CASE(a_rule_broken_by_a_default_is_reported_at_the_section_or_file) {
  BOOST_TEST(bad("[model]\nlayers = 8\n")[0].key == "data.train");
  BOOST_TEST(bad("[model]\nlayers = 8\n")[0].where.line == 1u);
}

BOOST_AUTO_TEST_CASE(listening_in_public_needs_permission) {
  BOOST_TEST(only("[node]\nlisten = \"0.0.0.0:7000\"\n").key == "node.listen");
  good(kMinimal + "[node]\nlisten = \"0.0.0.0:7000\"\nallow_plaintext = true\n");
  BOOST_TEST(only("[node]\nlisten = \"nowhere\"\n").message ==
             "expected \"HOST:PORT\" or \"\", found the string \"nowhere\"");
}

BOOST_AUTO_TEST_CASE(chaos_needs_somebody_to_hit_and_time_to_do_it) {
  BOOST_TEST(only("[chaos]\nkill_every_s = 0.01\n").message ==
             "expected 0 or at least 0.05 s, found 0.01");
  BOOST_TEST(only("[chaos]\npause_every_s = 1\ntargets = []\n").key == "chaos.targets");
  BOOST_TEST(only("[chaos]\ntargets = [\"peer\", \"peers\"]\n").suggestion == "peer");
  const auto e = good(kMinimal + "[chaos]\ntargets = []\n", {"chaos.seed=9"});
  BOOST_TEST(e.chaos.seed == 9u);
  BOOST_TEST(e.base.config_fingerprint == good(kMinimal).base.config_fingerprint);
}

BOOST_AUTO_TEST_CASE(nodes_are_checked) {
  BOOST_TEST(contains(only("[[nodes]]\nname=\"a\"\nstages=[0]\n").message, "no node is a trainer"));
  BOOST_TEST(contains(only("[[nodes]]\nname=\"a\"\ntrainer=true\n").message,
                      "stage 0 is served by 0 nodes, training needs 1"));
  const std::string fine = "[[nodes]]\nname=\"a\"\nstages=[0]\ntrainer=true\n";
  BOOST_TEST(contains(only(fine + "[[nodes]]\nname=\"a\"\n").message, "another node"));
  BOOST_TEST(only(fine + "[[nodes]]\nname=\"b\"\nstages=[1]\n").where.line == 9u);
  BOOST_TEST(only(fine + "[[nodes]]\nname=\"../b\"\n").key == "nodes.name");
  BOOST_TEST(only(fine + "[[nodes]]\nstage=[0]\nname=\"c\"\n").suggestion == "stages");
  BOOST_TEST(contains(only("[nodes]\nname=\"a\"\n").message, "expected [[nodes]]"));
}

BOOST_AUTO_TEST_CASE(the_timeline_is_checked) {
  const std::string fine = "[[nodes]]\nname=\"abc\"\nstages=[0]\ntrainer=true\n[[timeline]]\n";
  BOOST_TEST(only(fine + "action=\"kill\"\nnode=\"abd\"\nat_step=1\n").suggestion == "abc");
  BOOST_TEST(contains(only(fine + "action=\"kill\"\nnode=\"abc\"\n").message, "either"));
  BOOST_TEST(contains(
      only(fine + "action=\"kill\"\nnode=\"abc\"\nat_step=1\nat_second=1\n").message, "either"));
  BOOST_TEST(only(fine + "action=\"slay\"\nnode=\"abc\"\nat_step=1\n").key == "timeline.action");
  BOOST_TEST(only(fine + "node=\"abc\"\nat_step=1\n").key == "timeline.action");
  BOOST_TEST(only(fine + "action=\"kill\"\nnode=\"abc\"\nat_step=101\n").key == "timeline.at_step");
}

BOOST_AUTO_TEST_CASE(a_run_cut_short_on_the_command_line_keeps_its_timeline) {
  good(kMinimal +
           "[[nodes]]\nname=\"a\"\nstages=[0]\ntrainer=true\n"
           "[[timeline]]\nnode=\"a\"\naction=\"kill\"\nat_step=50\n",
       {"training.steps=10"});
}

BOOST_AUTO_TEST_CASE(a_missing_file_or_folder_is_one_clear_error) {
  const auto missing = load_experiment("/nonexistent/x.toml");
  BOOST_REQUIRE(!missing.ok());
  BOOST_TEST(contains(missing.text(), "/nonexistent/x.toml: cannot read"));
  BOOST_TEST(contains(load_experiment("/").text(), "not a regular file"));
}

BOOST_AUTO_TEST_CASE(garbage_never_crashes) {
  const std::string seed = to_toml(good(kMinimal)) + "[[nodes]]\nname=\"a\"\nstages=[0]\n";
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string text = seed.substr(0, i % 3 == 0 ? 1 + random() % (seed.size() - 1) : seed.size());
    for (uint32_t edits = 1 + random() % 8; edits > 0; --edits)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto result = parse_experiment(text, "x.toml");
    BOOST_TEST(result.ok() == result.errors.empty());
    for (const auto& error : result.errors) BOOST_TEST(error.where.line > 0u);
  }
  for (const std::string& text :
       {std::string(100000, '['), std::string("a.", 2), std::string("\0", 1),
        "a = " + std::string(100000, '{'), "a = " + std::string(5000, '[')})
    BOOST_TEST(!parse_experiment(text, "x.toml").ok());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ExperimentValues)

BOOST_AUTO_TEST_CASE(values_reach_their_structs) {
  const auto e = good(kMinimal +
                      "[model]\nlayers = 4\nlayers_per_stage = [3, 1]\n[pipeline]\nstages = 2\n"
                      "backward = \"recompute\"\n[optimizer]\nlearning_rate = 1\n"
                      "[links]\nheartbeat_every_ms = 250\n[run]\nseed = 9\n"
                      "[estimates]\nsmoothing = 0.5\n[wiring]\ncost = \"response\"\n");
  BOOST_TEST(e.base.model.layers == 4);
  BOOST_TEST(e.base.model.layers_per_stage == (std::vector<int32_t>{3, 1}));
  BOOST_TEST(e.base.num_stages == 2);
  BOOST_TEST((e.base.backward == tensor::BackwardPolicy::kRecompute));
  BOOST_TEST(e.base.optimizer.learning_rate == 1.0);
  BOOST_TEST(e.base.links.heartbeat_every.count() == 250);
  BOOST_TEST(e.base.model.seed == 9u);
  BOOST_TEST(e.base.data.seed == 9u);
  BOOST_TEST(e.base.training.seed == 9u);
  BOOST_TEST(e.base.trainer_options.estimates.smoothing == 0.5);
  BOOST_TEST(e.base.stage_server.estimates.smoothing == 0.5);
  BOOST_TEST((e.base.trainer_options.wiring.cost == routing::WiringCost::kResponse));
  BOOST_TEST((e.base.stage_server.wiring.cost == routing::WiringCost::kResponse));
  BOOST_TEST((good(kMinimal).base.stage_server.wiring.cost == routing::WiringCost::kOccupancy));
}

BOOST_AUTO_TEST_CASE(what_a_divided_swarm_does_is_read_and_printed) {
  const auto unset = good(kMinimal).base.training;
  BOOST_TEST((unset.partition == actors::PartitionPolicy::kWait));
  BOOST_TEST(unset.continue_after.count() == 60'000);
  const auto e = good(kMinimal + "[training]\npartition = \"continue\"\ncontinue_after_s = 2.5\n");
  BOOST_TEST((e.base.training.partition == actors::PartitionPolicy::kContinue));
  BOOST_TEST(e.base.training.continue_after.count() == 2'500);
  const auto again = good(to_toml(e)).base.training;
  BOOST_TEST((again.partition == actors::PartitionPolicy::kContinue));
  BOOST_TEST(again.continue_after.count() == 2'500);
}

BOOST_AUTO_TEST_CASE(an_override_wins_over_the_file_and_the_last_over_the_first) {
  const auto e = good(kMinimal + "[model]\nlayers = 4\n",
                      {"model.layers=6", "model.layers=5", "run.name=123", "data.train=other",
                       "optimizer.schedule=cosine", "node.join=127.0.0.1:80"});
  BOOST_TEST(e.base.model.layers == 5);
  BOOST_TEST(e.run.name == "123");
  BOOST_TEST(e.base.data.train == (std::vector<std::string>{"other"}));
  BOOST_TEST((e.base.optimizer.schedule == tensor::Schedule::kCosine));
  BOOST_TEST(e.base.optimizer.total_steps == 100);
  BOOST_TEST(e.base.join.at(0).text() == "127.0.0.1:80");
  BOOST_TEST(good(kMinimal, {"model.layers_per_stage=[4, 4]", "pipeline.stages=2"})
                 .base.model.layers_per_stage.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_bad_override_is_named_as_such) {
  BOOST_TEST(only("", {"model.layer=3"}).text() ==
             "--set model.layer: unknown key; did you mean \"layers\"?");
  BOOST_TEST(contains(only("", {"model.layers=x"}).message, "found the string \"x\""));
  BOOST_TEST(contains(only("", {"model.layers"}).message, "expected section.key=value"));
  BOOST_TEST(only("", {"layers=3"}).suggestion == "model.layers");
  BOOST_TEST(contains(only("", {"timeline.node=3"}).message, "edit the file"));
  BOOST_TEST(only("", {"run.name=\xff\xfe"}).key == "run.name");
  BOOST_TEST(only("", {"model.layers=3\nx = 4"}).key == "model.layers");
}

BOOST_AUTO_TEST_CASE(an_override_reaches_the_nodes_whose_names_match) {
  const std::string nodes = kMinimal +
                            "[[nodes]]\nname=\"s.0\"\ncount=2\nstages=[0]\n"
                            "[[nodes]]\nname=\"t\"\ntrainer=true\ndelay_s=3\n";
  const auto e = good(nodes, {"nodes.s.0-1.delay_s=0.5", "nodes.*-0.threads=2",
                              "nodes.s*.preempt=[{at_s=1}]", "nodes.t.send_bytes_per_s=5000"});
  BOOST_TEST(e.nodes[0].delay_s == 0);
  BOOST_TEST(e.nodes[1].delay_s == 0.5);
  BOOST_TEST(e.nodes[2].delay_s == 3);
  BOOST_TEST(e.nodes[0].threads == 2);
  BOOST_TEST(e.nodes[1].threads == 0);
  BOOST_TEST((e.nodes[1].preempt == std::vector<Preemption>{{1, 30}}));
  BOOST_TEST(e.nodes[2].preempt.empty());
  BOOST_TEST(to_node_options(e, "s.0-1", "").delay_s == 0.5);
  BOOST_TEST(to_node_options(e, "t", "").links.shape.node.send_bytes_per_s == 5000);
  BOOST_TEST(e.base.config_fingerprint == good(nodes).base.config_fingerprint);

  BOOST_TEST(bad(nodes, {"nodes.u.threads=2"})[0].text() ==
             "--set nodes.u.threads: there is no node \"u\"");
  BOOST_TEST(bad(nodes, {"nodes.s.0.threads=2"})[0].suggestion == "s.0-0");
  BOOST_TEST(bad(nodes, {"nodes.t.thread=2"})[0].suggestion == "threads");
  BOOST_TEST(bad(nodes, {"nodes.t.name=u"})[0].message == "is given by the file; edit it");
  BOOST_TEST(bad(nodes, {"nodes.*.delay_s=-1"}).size() == 1u);
  BOOST_TEST(bad(nodes, {"nodes.t.send_bytes_per_s=100"})[0].key == "nodes.send_bytes_per_s");
  for (const char* broken : {"nodes=1", "nodes.delay_s=1", "nodes..delay_s=1"})
    BOOST_TEST(bad(nodes, {broken})[0].message == "expected nodes.NAME.key=value", broken);
}

BOOST_AUTO_TEST_CASE(preemptions_are_checked_and_read_back) {
  const std::string node = kMinimal + "[[nodes]]\nname=\"a\"\nstages=[0]\ntrainer=true\n";
  const auto e = good(node +
                      "preempt = [{ at_s = 60 }, { at_s = 5, for_s = 1.5 }]\n"
                      "preempt_every_s = 100\npreempt_by = \"stop\"\n");
  BOOST_TEST((e.nodes[0].preempt == std::vector<Preemption>{{60, 30}, {5, 1.5}}));
  BOOST_TEST((e.nodes[0].preempt_by == PreemptBy::kStop));
  const auto again = good(to_toml(e));
  BOOST_TEST((again.nodes[0].preempt == e.nodes[0].preempt));
  BOOST_TEST((again.nodes[0].preempt_by == PreemptBy::kStop));

  BOOST_TEST(bad(node + "preempt = [{ at_s = 9 }, { at_s = 5, for_s = 4 }]\n")[0].message ==
             "the preemption at 9.0 s begins before the one at 5.0 s ends");
  BOOST_TEST(bad(node + "preempt_every_s = 30\n")[0].key == "nodes.preempt_every_s");
  for (const char* item : {"{ for_s = 3 }", "{ at = 3 }", "3", "{ at_s = -1 }", "{ at_s = \"1\" }",
                           "{ at_s = 1, for_s = 0 }"})
    BOOST_TEST(bad(node + "preempt = [" + item + "]\n")[0].key == "nodes.preempt", item);
}

BOOST_AUTO_TEST_CASE(a_counted_node_becomes_many) {
  const auto e = good(kMinimal +
                      "[[nodes]]\nname=\"s\"\ncount=2\nstages=[0]\n"
                      "[[nodes]]\nname=\"t\"\ntrainer=true\nthreads=3\n");
  BOOST_REQUIRE_EQUAL(e.nodes.size(), 3u);
  BOOST_TEST(e.nodes[1].name == "s-1");
  const auto node = to_node_options(e, "t", "/tmp/run");
  BOOST_TEST(node.trainer);
  BOOST_TEST(node.threads == 3);
  BOOST_TEST(node.node_folder() == "/tmp/run/nodes/t");
  BOOST_TEST(node.links.node_name == "t");
  BOOST_TEST(node.links.run_id == node.run_id);
  BOOST_TEST(node.links.config_fingerprint == fingerprint(e));
  BOOST_TEST(to_node_options(e, "stranger", "").stages.empty());
}

BOOST_AUTO_TEST_CASE(the_fingerprint_covers_what_nodes_share_and_nothing_else) {
  const std::string base = fingerprint(good(kMinimal));
  BOOST_TEST(base.size() == 32u);
  for (const char* same :
       {"training.partition=continue", "training.continue_after_s=5", "run.name=x", "run.folder=x",
        "node.threads=7", "links.max_links=9", "node.listen=127.0.0.1:1", "checkpoint.keep=9",
        "checkpoint.mirror=m", "data.train=x", "data.validation=x"})
    BOOST_TEST(fingerprint(good(kMinimal, {same})) == base, same);
  for (const char* other : {"run.seed=2", "model.layers=9", "training.batch=32", "data.holdout=0.2",
                            "optimizer.beta1=0.5", "wire.averaging=bf16", "pipeline.stages=2"})
    BOOST_TEST(fingerprint(good(kMinimal, {other})) != base, other);
  // What it was before it was of the fingerprint is in older runs' files; what it is not.
  BOOST_TEST(fingerprint(good(kMinimal, {"averager.topology=butterfly"})) == base);
  BOOST_TEST(fingerprint(good(kMinimal, {"averager.topology=two_level"})) != base);
  // Snapshots of older runs carry it with the text's path.
  const std::string older = older_fingerprint(good(kMinimal));
  BOOST_TEST(older != base);
  BOOST_TEST(older_fingerprint(good(kMinimal, {"data.train=x"})) != older);
  BOOST_TEST(older_fingerprint(good(kMinimal, {"node.threads=7"})) == older);
}

BOOST_AUTO_TEST_CASE(what_nodes_share_is_told_with_what_was_changed_first) {
  const auto settings = shared_settings(good(kMinimal, {"wire.averaging=bf16"}));
  BOOST_TEST(settings.size() > 40u);
  const auto at = [&](const std::string& key) {
    return std::find_if(settings.begin(), settings.end(),
                        [&](const auto& setting) { return setting.key == key; });
  };
  BOOST_REQUIRE(at("wire.averaging") != settings.end());
  BOOST_TEST(at("wire.averaging")->value == "\"bf16\"");
  BOOST_TEST((at("wire.averaging") < at("wire.gradients")));
  BOOST_TEST((at("data.train") == settings.end()));
  BOOST_TEST((at("node.threads") == settings.end()));
}

BOOST_AUTO_TEST_CASE(an_override_is_named_once) {
  const auto result = parse_experiment(kMinimal, "file", {"training.stepz=3"});
  BOOST_REQUIRE_EQUAL(result.errors.size(), 1u);
  BOOST_TEST(result.errors[0].text() ==
             "--set training.stepz: unknown key; did you mean \"steps\"?");
}

BOOST_AUTO_TEST_CASE(the_resolved_config_reads_back_equal) {
  const auto e = good(read("quickstart.toml"),
                      {"optimizer.learning_rate=0.1", "optimizer.epsilon=3.3e-9",
                       "run.folder=a \"quoted\" \\ path\twith tab", "optimizer.schedule=cosine"});
  const std::string text = to_toml(e);
  const auto again = good(text);
  BOOST_TEST(to_toml(again) == text);
  BOOST_TEST(fingerprint(again) == fingerprint(e));
  BOOST_TEST(again.run.folder == "a \"quoted\" \\ path\twith tab");
  BOOST_TEST(again.nodes.size() == e.nodes.size());
  BOOST_TEST(again.timeline.size() == e.timeline.size());
  BOOST_TEST(again.base.optimizer.epsilon == 3.3e-9);
}

BOOST_AUTO_TEST_CASE(the_reference_is_what_the_program_prints) {
  BOOST_TEST((read("reference.toml") == reference_toml()),
             "write it anew: swarm config reference > config/reference.toml");
}

BOOST_AUTO_TEST_CASE(the_reference_has_every_key_and_every_default) {
  const std::string text = reference_toml();
  const auto parsed = good(text, {"data.train=text"});
  BOOST_TEST(to_toml(parsed) == to_toml(good(kMinimal)));
  for (const auto& key : experiment_keys())
    BOOST_TEST(contains(text, "\n" + key.name + " = "), key.path());
  for (const auto& key : node_keys()) BOOST_TEST(contains(text, "\n# " + key.name + " = "));
  for (const auto& key : timeline_keys()) BOOST_TEST(contains(text, "\n# " + key.name + " = "));
}

BOOST_AUTO_TEST_CASE(three_machines_have_a_peer_for_each_stage_and_a_trainer) {
  const auto e = good(read("three_machines.toml"));
  BOOST_REQUIRE_EQUAL(e.nodes.size(), 3u);
  BOOST_TEST(e.nodes[0].trainer);
  for (int32_t stage = 0; stage < e.base.num_stages; ++stage)
    BOOST_TEST((e.nodes[static_cast<size_t>(stage) + 1].stages == std::vector<int32_t>{stage}));
  const auto there = good(read("three_machines.toml"), {"node.listen=10.0.0.1:7000"});
  BOOST_TEST(there.base.links.listen.text() == "10.0.0.1:7000");
}

BOOST_AUTO_TEST_CASE(what_a_resumed_run_may_not_change_is_named) {
  const auto before = good(kMinimal);
  const auto after = good(kMinimal, {"training.steps=230", "node.threads=3"});
  BOOST_TEST(changed_settings(before, after) == "training.steps from 100 to 230");
  BOOST_TEST(changed_settings(before, before) == "");
}

BOOST_AUTO_TEST_CASE(the_chaos_experiment_has_three_peers_a_stage_and_kills_every_five_seconds) {
  const auto e = good(read("chaos.toml"));
  BOOST_TEST(e.nodes.size() == 15u);
  BOOST_TEST(e.chaos.kill_every_s == 5);
  BOOST_TEST(e.chaos.targets.size() == 4u);
  BOOST_TEST(e.base.checkpoint.keep * e.base.checkpoint.every_steps >= e.base.training.steps);
  BOOST_TEST(good(read("chaos.toml"), {"chaos.kill_every_s=0"}).chaos.kill_every_s == 0);
}

BOOST_AUTO_TEST_CASE(the_quickstart_has_two_peers_a_stage_two_trainers_and_a_seed) {
  const auto e = good(read("quickstart.toml"));
  std::vector<int> peers(4);
  int trainers = 0, idle = 0;
  for (const auto& node : e.nodes) {
    trainers += node.trainer;
    idle += !node.trainer && node.stages.empty();
    for (int32_t stage : node.stages) ++peers.at(static_cast<size_t>(stage));
  }
  BOOST_TEST(peers == (std::vector<int>{2, 2, 2, 2}));
  BOOST_TEST(trainers == 2);
  BOOST_TEST(idle == 1);
  BOOST_TEST(e.timeline.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config
