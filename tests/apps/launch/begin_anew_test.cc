// What stands before a run begins: what an earlier one left behind, and what a person should know.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/launch/run_folder.h"
#include "apps/launch/timeline.h"
#include "records/catalogue.h"
#include "records/event.h"
#include "records/kept_stages.h"
#include "tests/support/temporary_directory.h"

namespace swarm::launch {

namespace fs = std::filesystem;

namespace {

/// Each with a folder of its own.
config::Experiment experiment_of(const std::vector<std::pair<std::string, int>>& stages,
                                 const fs::path& folder) {
  config::Experiment experiment;
  experiment.base.run_id = "one";
  experiment.base.num_stages = 2;
  for (const auto& [name, stage] : stages) {
    config::NodeSpec node;
    node.name = name;
    node.stages = {stage};
    experiment.nodes.push_back(node);
    fs::create_directories(folder / "nodes" / name);
  }
  return experiment;
}

void make_database(const fs::path& folder, const std::string& node) {
  fs::create_directories(folder / "nodes" / node / "db");
  std::ofstream(folder / "nodes" / node / "db/CURRENT") << "x";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(BeginningAnew)

BOOST_AUTO_TEST_CASE(what_a_run_left_behind_is_moved_and_its_settings_and_key_stay) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path();
  const fs::path folder = path;
  fs::create_directories(folder / "nodes/s0/db");
  for (const char* name :
       {"config.toml", "operator.key", "run.lock", "events.jsonl", "nodes/s0/db/CURRENT"})
    std::ofstream(folder / name) << name;
  const auto aside = set_history_aside(path);
  BOOST_REQUIRE(aside.ok());
  for (const char* stays : {"config.toml", "operator.key", "run.lock"})
    BOOST_TEST(fs::exists(folder / stays));
  for (const char* goes : {"events.jsonl", "nodes/s0/db/CURRENT"}) {
    BOOST_TEST(!fs::exists(folder / goes));
    BOOST_TEST(fs::exists(fs::path(*aside) / goes));
  }
}

// It began at step 0 again, without a word, and was finished with exit code 0.
BOOST_AUTO_TEST_CASE(a_run_whose_databases_are_gone_is_not_gone_on_with) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path();
  const fs::path folder = path;
  const config::Experiment experiment = experiment_of({{"a", 0}, {"b", 0}, {"c", 1}}, folder);
  for (const char* node : {"a", "b"}) make_database(folder, node);
  BOOST_TEST(missing_databases(path, experiment) == "");  // no step was closed
  std::ofstream(folder / "metrics.jsonl") << "{}\n";
  BOOST_TEST(missing_databases(path, experiment).find("of stage 1 (") != std::string::npos);
  make_database(folder, "c");
  fs::remove_all(folder / "nodes/a/db");
  BOOST_TEST(missing_databases(path, experiment) == "");  // b has one
}

// It was called lost, though another node had copies.
BOOST_AUTO_TEST_CASE(copies_on_other_nodes_take_the_place_of_a_stage_that_has_no_database) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path();
  const fs::path folder = path;
  const config::Experiment experiment = experiment_of({{"s0", 0}, {"s1", 1}}, folder);
  std::ofstream(folder / "metrics.jsonl") << "{}\n";
  make_database(folder, "s0");
  const auto made = [&folder](const std::string& node, int stage) {
    auto event = records::make_event(stage, 10, records::CopyMade{});
    event.node = node;
    std::ofstream(folder / "events.jsonl", std::ios::app) << to_json(event) << "\n";
  };
  made("s0", 0);
  made("s1", 1);  // whose own database is gone
  BOOST_TEST(missing_databases(path, experiment).find("of stage 1 (") != std::string::npos);
  made("s0", 1);
  BOOST_TEST(missing_databases(path, experiment) == "");
}

BOOST_AUTO_TEST_CASE(a_nodes_folder_is_not_taken_for_its_runs) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path();
  const fs::path folder = path;
  fs::create_directories(folder / "nodes/s0");
  std::ofstream(folder / "nodes/s0/config.toml") << "x";
  BOOST_TEST(run_of_node(folder / "nodes/s0") == "");  // of a node that was started by itself
  std::ofstream(folder / "config.toml") << "x";
  BOOST_TEST(run_of_node(folder / "nodes/s0") == fs::canonical(folder));
  BOOST_TEST(run_of_node(folder / "nodes/s0/") == fs::canonical(folder));
  BOOST_TEST(run_of_node(folder) == "");
  BOOST_TEST(run_of_node("") == "");
}

BOOST_AUTO_TEST_CASE(the_database_of_a_node_that_has_moved_is_of_both_its_stages) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path();
  const fs::path folder = path;
  const config::Experiment experiment = experiment_of({{"a", 0}, {"b", actors::kAnyStage}}, folder);
  std::ofstream(folder / "metrics.jsonl") << "{}\n";
  make_database(folder, "a");
  BOOST_TEST(missing_databases(path, experiment).find("of stage 1 (") != std::string::npos);
  BOOST_TEST(records::KeptStages(folder / "nodes/a", "one", {0}).move(0, 1).ok());
  BOOST_TEST(missing_databases(path, experiment) == "");
  const auto now = as_served(experiment, path);
  BOOST_TEST(now.nodes[0].stages.at(0) == 1);
  BOOST_TEST(now.nodes[1].stages.at(0) == actors::kAnyStage);
}

// Another `--restart` would have gone on from it.
BOOST_AUTO_TEST_CASE(a_mirror_takes_the_place_of_databases_until_the_run_begins_anew) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path();
  const fs::path folder = path;
  config::Experiment experiment = experiment_of({{"s0", 0}, {"s1", 1}}, folder);
  experiment.base.checkpoint.mirror = folder / "mirror";
  std::ofstream(folder / "metrics.jsonl") << "{}\n";
  fs::create_directories(folder / "mirror/one");
  std::ofstream(folder / "mirror/one/step-000000000020.stage-0.0000000000000007.snapshot") << "x";
  BOOST_TEST(missing_databases(path, experiment).find("of stage 0, 1 (") != std::string::npos);
  std::ofstream(folder / "mirror/one/step-000000000020.stage-1.0000000000000007.snapshot") << "x";
  BOOST_TEST(missing_databases(path, experiment) == "");
  BOOST_TEST(set_mirror_aside(experiment).ok());
  BOOST_TEST(!fs::exists(folder / "mirror/one"));
  BOOST_TEST(!fs::is_empty(folder / "mirror"));
  BOOST_TEST(set_mirror_aside(experiment).ok());  // there is nothing any more
  fs::remove_all(folder / "mirror");
  BOOST_TEST((set_mirror_aside(experiment).code() == ErrorCode::kIo));
  BOOST_TEST(missing_databases(path, experiment).find("is it mounted?") != std::string::npos);
  experiment.run.folder = path;
  experiment.run.name = "other";
  BOOST_TEST((make_run_folder(experiment).code() == ErrorCode::kIo));
  BOOST_TEST(!fs::exists(folder / "other"));
}

BOOST_AUTO_TEST_CASE(one_trainer_alone_is_told_and_two_are_not) {
  config::Experiment experiment;
  config::NodeSpec peer, trainer;
  peer.name = "s0";
  trainer.name = "t0";
  trainer.trainer = true;
  experiment.nodes = {peer, trainer};
  BOOST_REQUIRE(weak_points(experiment).size() == 1u);
  BOOST_TEST(weak_points(experiment)[0].find("t0 is the only node") == 0u);
  BOOST_TEST(lone_trainer(experiment, "t0").find("t0 is the only node") == 0u);
  BOOST_TEST(lone_trainer(experiment, "t1") == "");  // by the command line of `swarm node`
  experiment.nodes.pop_back();
  BOOST_TEST(lone_trainer(experiment) == "");  // by hand, all of them
  experiment.nodes.push_back(trainer);
  trainer.name = "t1";
  experiment.nodes.push_back(trainer);
  BOOST_TEST(weak_points(experiment).empty());
}

BOOST_AUTO_TEST_CASE(a_run_that_is_given_up_before_a_stage_is_taken_over_is_told) {
  config::Experiment experiment;
  experiment.base.checkpoint.copies = 1;
  experiment.base.coordinator.placement.gone_after = std::chrono::seconds(200);
  experiment.run.stall_limit_s = 120;
  BOOST_REQUIRE(weak_points(experiment).size() == 1u);
  BOOST_TEST(weak_points(experiment)[0].find("run.stall_limit_s (120)") == 0u);
  experiment.run.stall_limit_s = 260;
  BOOST_TEST(weak_points(experiment).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
