/// Collecting in rounds: which step is taken, who is owed, when nodes are told that they may leave.
#include "apps/launch/collection.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "apps/launch/collected_folder.h"
#include "common/names.h"
#include "tests/apps/launch/collect_fakes.h"

namespace swarm::launch {
namespace {

/// Of three machines: m1 trains, m2 serves stage 0, m3 stage 1.
struct Machines : Folder {
  Machines() {
    for (FakeNode* node : {&m1, &m2, &m3}) {
      node->part = 1'000;
      node->files = {{"config.toml", kFile}, {"events.jsonl", event("n", 1, "leaving")}};
    }
    m1.name = "m1", m2.name = "m2", m3.name = "m3";
    m1.files["events.jsonl"] +=
        "{\"time\": 4, \"node\": \"m1\", \"event\": \"finished\", \"level\": \"info\", \"steps\": "
        "2}\n";
    m2.snapshot = "of stage 0", m3.snapshot = "of stage 1";
    m2.steps[0] = {300, 400}, m3.steps[1] = {300, 400};
  }

  /// A node as one round meets it; it outlives the round.
  struct Met : NodeSource {
    explicit Met(FakeNode& node) : node_(node) {}
    Result<Buffer> read_file(const std::string& name, uint64_t offset) override {
      return node_.read_file(name, offset);
    }
    Result<SnapshotPart> read_snapshot(const HeldSnapshot& which, uint64_t offset) override {
      return node_.read_snapshot(which, offset);
    }
    FakeNode& node_;
  };
  Holder meet(FakeNode& node, const std::string& run = "three-1") {
    Holder holder{"at " + node.name, std::make_unique<Met>(node), node.holdings(),
                  [this, &node](bool finished) {
                    told.push_back(node.name + (finished ? " finished" : ""));
                    return Status();
                  }};
    holder.holdings.run_id = run;
    return holder;
  }
  std::vector<Holder> meet(const std::vector<FakeNode*>& nodes) {
    std::vector<Holder> out;
    for (FakeNode* node : nodes) out.push_back(meet(*node));
    return out;
  }

  Result<Collection> open() {
    const auto open_store =
        [this](const std::string& of) -> Result<std::shared_ptr<storage::CheckpointStore>> {
      if (broken.count(of) > 0) return Error{ErrorCode::kIo, "cannot open it"};
      fs::create_directories(of + "/db");
      auto& store = stores[of];
      if (!store) store = std::make_shared<MemoryStore>();
      return std::shared_ptr<storage::CheckpointStore>(store);
    };
    return Collection::open(path + "/run", open_store,
                            [this](const std::string& line) { said += line + "\n"; });
  }
  std::string stored(const std::string& node, uint32_t stage, uint64_t step) {
    const auto& store = stores[path + "/run/nodes/" + node];
    const auto value = store ? store->get({stage_key(stage), step})
                             : Result<Buffer>(Error{ErrorCode::kNotFound, ""});
    return value ? std::string(value->view()) : "";
  }

  FakeNode m1, m2, m3;
  std::map<std::string, std::shared_ptr<MemoryStore>> stores;  // by folder: the disk
  std::set<std::string> broken;
  std::vector<std::string> told;
  std::string said;
};

std::string text_of(const Result<CollectedRun>& run) {
  if (!run) return to_string(run.error());
  std::string out;
  for (const auto& line : run->lacks) out += line + "\n";
  return out;
}
bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CollectionTest)

BOOST_FIXTURE_TEST_CASE(all_is_brought_and_then_everybody_told, Machines) {
  auto into = open();
  const auto run = into->take(meet({&m1, &m2, &m3}));
  BOOST_TEST(text_of(run) == "");
  BOOST_TEST(stored("m2", 0, 400) == "of stage 0");
  BOOST_TEST(stored("m3", 1, 400) == "of stage 1");
  const std::vector<std::string> all = {"m1 finished", "m2 finished", "m3 finished"};
  BOOST_TEST(told == all, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_was_brought_before_counts_when_its_node_is_gone, Machines) {
  auto into = open();
  m3.answers = 2;  // its link is lost after its first files
  BOOST_TEST(says(text_of(into->take(meet({&m1, &m2, &m3}))), "m3: "));
  BOOST_TEST(told.empty());  // nobody leaves before all is there
  m3.answers = 1'000;
  const auto run = into->take(meet({&m1, &m3}));  // m2 has died
  BOOST_TEST(text_of(run) == "");
  BOOST_TEST(stored("m3", 1, 400) == "of stage 1");
  const std::vector<std::string> those = {"m1 finished", "m3 finished"};
  BOOST_TEST(told == those, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(snapshots_without_a_common_step_are_no_success, Machines) {
  auto into = open();
  m3.steps[1] = {200};
  const auto run = into->take(meet({&m1, &m2, &m3}));
  BOOST_TEST(says(text_of(run), "stage 0: 400, stage 1: 200"), text_of(run));
  BOOST_TEST(told.empty());
  m2.steps.clear();
  m3.steps.clear();
  BOOST_TEST(text_of(into->take(meet({&m1, &m2, &m3}))) == "");
  BOOST_TEST(says(said, "no snapshots yet"));
}

BOOST_FIXTURE_TEST_CASE(an_older_step_is_taken_with_a_word, Machines) {
  auto into = open();
  m3.steps[1] = {300};
  BOOST_TEST(text_of(into->take(meet({&m1, &m2, &m3}))) == "");
  BOOST_TEST(says(said, "step 300 is the newest of which every stage has"), said);
  BOOST_TEST(stored("m2", 0, 300) == "of stage 0");
}

BOOST_FIXTURE_TEST_CASE(who_dies_while_it_is_collected_is_owed, Machines) {
  auto into = open();
  m3.answers = 2;
  BOOST_TEST(says(text_of(into->take(meet({&m1, &m2, &m3}))), "m3: link_lost"));
  const auto run = into->take(meet({&m1, &m2}));  // it does not come back
  BOOST_TEST(says(text_of(run), "m3: "), text_of(run));
  BOOST_TEST(says(text_of(run), "stage 1"), text_of(run));
  BOOST_TEST(told.empty());
}

BOOST_FIXTURE_TEST_CASE(what_an_earlier_call_brought_of_a_node_is_not_all_of_it, Machines) {
  BOOST_TEST(text_of(open()->take(meet({&m1, &m2, &m3}))) == "");
  auto again = open();
  const auto run = again->take(meet({&m1, &m2}));
  BOOST_TEST(says(text_of(run), "m3: the experiment names it, and what is here is of an earlier"),
             text_of(run));
}

BOOST_FIXTURE_TEST_CASE(a_damaged_replica_costs_nothing, Machines) {
  auto into = open();
  FakeNode other = m3;
  other.name = "m4";
  m3.no_snapshot = Error{ErrorCode::kCorruptCheckpoint, "checksum differs"};
  BOOST_TEST(text_of(into->take(meet({&m1, &m2, &m3, &other}))) == "");
  BOOST_TEST(says(said, "m3: no snapshot of step 400 of stage 1"), said);
  BOOST_TEST(stored("m4", 1, 400) == "of stage 1");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_is_damaged_everywhere_is_said_and_the_older_taken, Machines) {
  auto into = open();
  m3.no_snapshot = Error{ErrorCode::kCorruptCheckpoint, "checksum differs"};
  BOOST_TEST(says(text_of(into->take(meet({&m1, &m2, &m3}))), "stage 1: its snapshot of step 400"));
  m3.no_snapshot.reset();  // of 300
  const auto run = into->take(meet({&m1, &m2, &m3}));
  BOOST_TEST(stored("m3", 1, 300) == "of stage 1");
  BOOST_TEST(stored("m3", 1, 400) == "");
  BOOST_TEST(says(text_of(run), "stage 1: its snapshot of step 400 is not here; m3: "),
             text_of(run));
  BOOST_TEST(told.empty());
}

BOOST_FIXTURE_TEST_CASE(a_step_that_was_pruned_meanwhile_is_forgotten, Machines) {
  auto into = open();
  m3.no_snapshot = Error{ErrorCode::kNotFound, "pruned"};
  BOOST_TEST(text_of(into->take(meet({&m1, &m2, &m3}))) != "");
  m3.no_snapshot.reset();
  m2.steps[0] = m3.steps[1] = {500};
  BOOST_TEST(text_of(into->take(meet({&m1, &m2, &m3}))) == "");
  BOOST_TEST(stored("m3", 1, 500) == "of stage 1");
}

BOOST_FIXTURE_TEST_CASE(nothing_is_asked_of_a_node_of_another_run, Machines) {
  BOOST_TEST(text_of(open()->take(meet({&m1, &m2, &m3}))) == "");
  BOOST_TEST(run_of_collected_folder(path + "/run") == "three-1");
  FakeNode stranger = m3;
  stranger.files["events.jsonl"] = "other";
  stranger.given = 0;
  auto into = open();
  auto holders = meet({&m1, &m2});
  holders.push_back(meet(stranger, "another run"));
  const auto run = into->take(std::move(holders));
  BOOST_TEST(stranger.given == 0u);
  BOOST_TEST(says(text_of(run), "at m3: refused: this is run 'another run'"), text_of(run));
  BOOST_TEST(read("run/nodes/m3/events.jsonl") == m3.files["events.jsonl"]);
}

BOOST_FIXTURE_TEST_CASE(who_refuses_is_owed_until_it_gives, Machines) {
  auto into = open();
  into->gives_nothing("at m3", {ErrorCode::kRefused, "no key"});
  BOOST_TEST(says(text_of(into->take(meet({&m1, &m2}))), "at m3: refused: no key"));
  BOOST_TEST(text_of(into->take(meet({&m1, &m2, &m3}))) == "");
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_read_is_said_and_the_rest_merged, Machines) {
  broken.insert(path + "/run/nodes/m2");
  auto into = open();
  auto holders = meet({&m1, &m2, &m3});
  holders.back().holdings.unreadable = {"cannot read log.txt"};
  const auto run = into->take(std::move(holders));
  BOOST_TEST(says(text_of(run), "m2: io: cannot open it"), text_of(run));
  BOOST_TEST(says(text_of(run), "m3: io: cannot read log.txt"), text_of(run));
  BOOST_REQUIRE(run.ok());
  BOOST_TEST(run->run.finished);
  BOOST_TEST(stored("m3", 1, 400) == "of stage 1");
}

BOOST_FIXTURE_TEST_CASE(folders_may_come_one_after_the_other, Machines) {
  const auto bring = [this](FakeNode& node) {
    auto into = open();
    into->take_piecemeal();
    return into->take(meet({&node}));
  };
  BOOST_TEST(says(text_of(bring(m1)), "m2: the experiment names it, and nothing of it is here"));
  BOOST_TEST(text_of(bring(m2)) != "");
  m3.answers = 2;
  BOOST_TEST(text_of(bring(m3)) != "");
  m3.answers = 1'000;
  BOOST_TEST(says(text_of(bring(m1)), "m3: "));  // what is here of it is a part
  m2.given = 0;
  BOOST_TEST(text_of(bring(m3)) == "");
  BOOST_TEST(m2.given == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_folder_is_marked_before_anything_is_in_it, Folder) {
  fs::create_directories(path + "/taken/nodes");
  BOOST_TEST((prepare_collected_folder(path + "/taken").code() == ErrorCode::kInvalidArgument));
  write("begun/.collected", "made by swarm collect\n");  // no space was left for more
  BOOST_TEST(prepare_collected_folder(path + "/begun").ok());
  BOOST_TEST(prepare_collected_folder(path + "/begun").ok());
  BOOST_TEST(has("begun/nodes"));
  BOOST_TEST(run_of_collected_folder(path + "/begun") == "");
  BOOST_REQUIRE(set_run_of_collected_folder(path + "/begun", "a").ok());
  BOOST_TEST(run_of_collected_folder(path + "/begun") == "a");
  BOOST_TEST(end_of_collected_run(path + "/begun") == 0u);
  BOOST_REQUIRE(set_end_of_collected_run(path + "/begun", 300).ok());
  BOOST_TEST(end_of_collected_run(path + "/begun") == 300u);
  BOOST_TEST(run_of_collected_folder(path + "/begun") == "a");
  BOOST_TEST(other_run("d", "a", "a") == "");
  BOOST_TEST(other_run("d", "", "a") == "");
  BOOST_TEST(other_run("d", "a", "b") != "");
}

// -- what is decided, without folders

BOOST_AUTO_TEST_CASE(the_newest_step_that_all_stages_have_is_chosen) {
  const Holdings a{"run", "a", 2, {}, {{0, 10}, {0, 20}, {0, 30}}, {}};
  const Holdings b{"run", "b", 2, {}, {{1, 10}, {1, 20}, {7, 30}}, {}};
  BOOST_TEST(newest_held_step({a, b}, 2).value() == 20u);
  BOOST_TEST((newest_held_step({a}, 2).code() == ErrorCode::kNotFound));
  BOOST_TEST((newest_held_step({}, 0).code() == ErrorCode::kNotFound));
  CollectPlan plan;
  BOOST_TEST((plan.begin_round({a}, {b}).step == std::optional<uint64_t>(20)));
  BOOST_TEST(plan.lacks().size() == 1u);  // stage 1 of it is not here yet
  plan.has_snapshot(1);
  BOOST_TEST(plan.lacks().empty());
}

BOOST_AUTO_TEST_CASE(without_the_number_of_stages_snapshots_are_no_weights) {
  CollectPlan plan;
  plan.begin_round({}, {{"", "a", 0, {}, {{0, 10}}, {}}});
  BOOST_REQUIRE_EQUAL(plan.lacks().size(), 1u);
  BOOST_TEST(plan.lacks()[0].find("config.toml") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
