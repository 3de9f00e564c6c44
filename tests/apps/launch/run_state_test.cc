#include "apps/launch/run_state.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "apps/launch/line_tail.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/summary.h"
#include "apps/launch/timeline.h"
#include "records/files.h"
#include "routing/membership/recovery.h"
#include "tests/support/ids.h"

namespace swarm::launch {
namespace {

std::string metrics(int step, double loss) {
  return "{\"step\":" + std::to_string(step) + ",\"time\":" + std::to_string(2 * step + 2) +
         ",\"train_loss\":" + std::to_string(loss) +
         ",\"tokens\":" + std::to_string((step + 1) * 100) +
         ",\"tokens_per_second\":50.0,\"seconds\":2.0,\"live_peers\":[2,1]}";
}

config::Experiment two_stages() {
  auto loaded = config::parse_experiment(
      "[data]\ntrain=[\"x\"]\n[pipeline]\nstages=2\n"
      "[[nodes]]\nname=\"a\"\nstages=[0]\n[[nodes]]\nname=\"b\"\nstages=[0,1]\n"
      "[[nodes]]\nname=\"t\"\ntrainer=true\n"
      "[[timeline]]\nat_step=3\naction=\"kill\"\nnode=\"b\"\n"
      "[[timeline]]\nat_second=10.0\naction=\"start\"\nnode=\"b\"\n",
      "x.toml");
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  return *loaded.experiment;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LineSplitterTest)

BOOST_AUTO_TEST_CASE(a_line_counts_only_when_it_is_complete) {
  LineSplitter splitter;
  BOOST_TEST(splitter.feed("one\ntw", 6) == (std::vector<std::string>{"one"}));
  BOOST_TEST(splitter.feed("o\n\nthree\n", 9) == (std::vector<std::string>{"two", "three"}));
}

BOOST_AUTO_TEST_CASE(an_endless_line_is_dropped_and_the_next_is_read) {
  LineSplitter splitter;
  const std::string endless(3u << 20, 'x');
  BOOST_TEST(splitter.feed(endless.data(), endless.size()).empty());
  BOOST_TEST(splitter.feed("x\nnext\n", 7) == (std::vector<std::string>{"next"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_does_not_exist_yet_has_no_lines) {
  BOOST_TEST(LineTail("/nonexistent/lines").poll().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(RunStateTest)

BOOST_AUTO_TEST_CASE(each_step_counts_once) {
  RunState state(2, 80);
  BOOST_TEST(state.take_metrics(metrics(0, 5.5)));
  BOOST_TEST(state.take_metrics(metrics(1, 5.0)));
  BOOST_TEST(!state.take_metrics(metrics(1, 4.0)));
  BOOST_TEST(state.steps_closed() == 2u);
  BOOST_TEST(*state.train_loss() == 5.0);
  BOOST_TEST(state.progress() == "step 2/80  loss 5.000  50 tokens/s  peers 2 1");
  BOOST_TEST(*state.tokens_per_second() == 50.0);
}

BOOST_AUTO_TEST_CASE(a_step_done_again_is_progress_and_says_who_serves) {
  RunState state(2, 80);
  state.take_metrics(metrics(0, 5.5));
  BOOST_TEST(state.closings() == 1u);
  BOOST_TEST(!state.take_metrics("{\"step\":0,\"train_loss\":5.0,\"live_peers\":[1,3]}"));
  BOOST_TEST(state.closings() == 2u);
  BOOST_TEST(state.live_peers() == (std::vector<int64_t>{1, 3}));
  BOOST_TEST(*state.train_loss() == 5.5);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_may_get_over_what_ended_it) {
  RunState state(2, 80);
  state.take_event("{\"time\":2.5,\"event\":\"diverged\",\"node\":\"t\",\"step\":3}");
  BOOST_TEST(state.diverged());
  BOOST_TEST(!state.last_trouble().empty());
  state.resumed();
  BOOST_TEST(!state.diverged());
  BOOST_TEST(state.last_trouble().empty());
}

/// What a coordinator says of peers that have these snapshots, one of each stage in turn.
std::string cannot_go_on_from(const std::vector<std::vector<Step>>& snapshots) {
  std::vector<routing::PeerSupply> peers;
  for (uint32_t stage = 0; stage < snapshots.size(); ++stage) {
    peers.push_back({testing::peer(stage + 1), Stage(stage), false, Step(), snapshots[stage]});
  }
  const auto plan = routing::plan_recovery(peers, static_cast<uint32_t>(snapshots.size()));
  BOOST_REQUIRE(!plan.ok());
  return to_json(records::make_event(-1, 0, records::CannotGoOn{plan.error()}));
}

// `swarm run --resume` waits while it says so, and is refused when every node is there (ResumeWatch).
BOOST_AUTO_TEST_CASE(no_step_that_every_stage_has_is_known_until_something_is_trained) {
  const std::string said = cannot_go_on_from({{Step(20), Step(40)}, {Step(30)}});
  RunState state(2, 80);
  BOOST_TEST(state.nothing_common() == "");
  state.take_event(said);
  for (const char* what : {"stage 0", "20", "40", "stage 1", "30"})
    BOOST_TEST(state.nothing_common().find(what) != std::string::npos, state.nothing_common());
  state.take_metrics(metrics(0, 5.5));
  BOOST_TEST(state.nothing_common() == "");
  state.take_event(cannot_go_on_from({{Step(20)}, {Step(30)}}));
  BOOST_TEST(state.nothing_common() != "");
  state.take_event(to_json(records::make_event(-1, 20, records::Recovered{})));
  BOOST_TEST(state.nothing_common() == "");
}

BOOST_AUTO_TEST_CASE(a_run_that_is_resumed_has_to_say_again_that_no_step_is_common) {
  RunState state(2, 80);
  state.take_event(cannot_go_on_from({{Step(20)}, {Step(30)}}));
  BOOST_TEST(state.nothing_common() != "");
  state.resumed();
  BOOST_TEST(state.nothing_common() == "");
}

BOOST_AUTO_TEST_CASE(a_run_that_stands_says_who_is_missing) {
  RunState state(2, 80);
  state.take_event(
      to_json(records::make_event(-1, 3, records::Minority{2, 1, 3, {"stage0-b", "t"}})));
  BOOST_TEST(state.last_trouble().find("missing=stage0-b,t") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_torn_last_line_is_removed_and_a_whole_one_is_not) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("swarm-torn-" + std::to_string(::getpid())))
          .string();
  auto content = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  BOOST_TEST(records::drop_torn_end(path).ok());  // there is none yet
  BOOST_TEST(records::append_line(path, "one").ok());
  BOOST_TEST(records::drop_torn_end(path).ok());
  BOOST_TEST(content() == "one\n");
  std::ofstream(path, std::ios::app) << "tw";
  BOOST_TEST(records::drop_torn_end(path).ok());
  BOOST_TEST(records::append_line(path, "two").ok());
  BOOST_TEST(content() == "one\ntwo\n");
  std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(the_last_line_brings_the_validation_loss_and_closes_no_step) {
  RunState state(2, 2);
  state.take_metrics(metrics(0, 5.5));
  state.take_metrics(metrics(1, 5.0));
  BOOST_TEST(state.take_metrics("{\"step\":2,\"train_loss\":null,\"validation_loss\":2.25}"));
  BOOST_TEST(state.steps_closed() == 2u);
  BOOST_TEST(*state.validation_loss() == 2.25);
  BOOST_TEST(*state.train_loss() == 5.0);
}

BOOST_AUTO_TEST_CASE(damaged_lines_are_left_out) {
  RunState state(2, 80);
  for (const char* line : {"", "{", "[]", "7", "null", "{\"step\":-1}", "{\"step\":\"1\"}",
                           "{\"event\":3}", "{\"event\":\"\"}", "\xff\xfe"}) {
    BOOST_TEST(!state.take_metrics(line), line);
    BOOST_TEST(!state.take_event(line), line);
  }
  BOOST_TEST(state.take_metrics("{\"step\":4,\"live_peers\":[\"x\"],\"tokens\":-3}"));
}

BOOST_AUTO_TEST_CASE(events_are_counted_and_known_ones_skipped) {
  RunState state(2, 80);
  const std::string restored = "{\"time\":1.5,\"event\":\"restored\",\"node\":\"a\",\"step\":3}";
  BOOST_TEST(state.take_event(restored));
  BOOST_TEST(!state.take_event(restored));
  BOOST_TEST(state.recoveries() == 1u);
  BOOST_TEST(!state.finished());
  BOOST_TEST(state.take_event("{\"time\":2.5,\"event\":\"finished\",\"node\":\"t\"}"));
  BOOST_TEST(state.finished());
}

template <class T>
void take(RunState& state, const T& fields) {
  records::Event event = records::make_event(-1, 27, fields);
  event.node = "stage1-a";
  state.take_event(to_json(event));
}

BOOST_AUTO_TEST_CASE(an_entry_of_the_timeline_that_was_carried_out_is_known) {
  RunState state(2, 80);
  take(state, records::TimelineAct{4, "kill"});
  BOOST_TEST(state.timeline_done() == (std::set<size_t>{4}));
  BOOST_TEST(state.chaos_done() == 0u);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_knows_how_far_its_chaos_had_come) {
  RunState state(2, 80);
  take(state, records::ChaosAct{0, "kill", true});
  take(state, records::ChaosSpared{1});
  take(state, records::ChaosAct{{}, "start", false});
  take(state, records::TimelineAct{7, "kill"});
  BOOST_TEST(state.chaos_done() == 2u);
}

BOOST_AUTO_TEST_CASE(the_coordinator_is_the_one_with_the_highest_term) {
  RunState state(2, 80);
  take(state, records::CoordinatorActive{3});
  state.take_event("{\"event\":\"coordinator\",\"node\":\"late\",\"term\":2}");
  state.take_event("{\"event\":\"coordinator\",\"node\":\"torn\"}");
  BOOST_TEST(state.coordinator() == "stage1-a");
}

BOOST_AUTO_TEST_CASE(a_rate_that_was_not_measured_is_none_and_not_zero) {
  RunState state(2, 80);
  BOOST_TEST(!state.tokens_per_second().has_value());
  state.take_metrics(
      "{\"step\":0,\"train_loss\":5.0,\"tokens\":100,\"tokens_per_second\":null,"
      "\"seconds\":0,\"live_peers\":[2,1]}");
  BOOST_TEST(!state.tokens_per_second().has_value());
  BOOST_TEST(state.progress() == "step 1/80  loss 5.000  - tokens/s  peers 2 1");
  BOOST_TEST(summary_json(two_stages(), state, {}, {}).find("\"tokens_per_second\": null") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_microbatches_than_ever_are_progress_and_bytes_are_movement) {
  RunState state(2, 80);
  uint64_t line = 0;
  auto goes_on = [&](int step, int slots_done) {
    state.take_event("{\"time\":" + std::to_string(++line) +
                     ",\"node\":\"t\",\"event\":\"goes_on\",\"step\":" + std::to_string(step) +
                     ",\"slots_done\":" + std::to_string(slots_done) +
                     ",\"slots\":16,\"bytes\":7}");
    return state.progress_seen();
  };
  BOOST_TEST(goes_on(3, 0).done == 0u);
  BOOST_TEST(goes_on(3, 4).done == 1u);
  BOOST_TEST(goes_on(3, 4).done == 1u);
  BOOST_TEST(goes_on(3, 2).done == 1u);
  BOOST_TEST(goes_on(2, 9).done == 1u);  // a step that is done again
  BOOST_TEST(goes_on(3, 5).done == 2u);
  BOOST_TEST(goes_on(4, 1).done == 3u);
  BOOST_TEST(state.progress_seen().moved == 7u);
  state.take_metrics(metrics(0, 5.5));
  BOOST_TEST(state.progress_seen().done == 4u);
}

// Two hundred processes on two cores took longer to begin than a run may stand still.
BOOST_AUTO_TEST_CASE(a_node_that_begins_is_movement_once) {
  RunState state(2, 80);
  uint64_t line = 0;
  auto begins = [&](const std::string& name) {
    state.take_event("{\"time\":" + std::to_string(++line) + ",\"node\":\"" + name +
                     "\",\"event\":\"process_started\",\"pid\":7,\"endpoint\":\"h:1\"}");
    return state.progress_seen().moved;
  };
  BOOST_TEST(begins("a") == 1u);
  BOOST_TEST(begins("b") == 2u);
  BOOST_TEST(begins("a") == 2u);  // started again
  BOOST_TEST(state.nodes_begun() == 2u);
  state.resumed();
  BOOST_TEST(begins("a") == 3u);
  BOOST_TEST(state.progress_seen().done == 0u);
}

BOOST_AUTO_TEST_CASE(events_that_were_told_as_a_number_count) {
  RunState state(2, 80);
  state.take_event(R"({"time":1,"node":"t","event":"refused"})");
  state.take_event(R"({"time":2,"node":"t","event":"repeated","name":"refused","times":80})");
  BOOST_TEST(state.events().at("refused") == 81u);
}

BOOST_AUTO_TEST_CASE(lines_older_than_a_merged_file_that_lost_its_beginning_are_not_new) {
  RunState state(2, 80);
  state.take_event(R"({"time":50,"node":"t","event":"leaving"})");
  BOOST_TEST(state.take_metrics(R"({"step":3,"time":50,"train_loss":5})"));
  state.nothing_new_before_known();
  BOOST_TEST(!state.take_event(R"({"time":49,"node":"t","event":"leaving"})"));
  BOOST_TEST(state.take_event(R"({"time":51,"node":"t","event":"leaving"})"));
  BOOST_TEST(!state.take_metrics(R"({"step":2,"time":49,"train_loss":5})"));
  BOOST_TEST(state.take_metrics(R"({"step":4,"time":51,"train_loss":5})"));
}

BOOST_AUTO_TEST_CASE(a_step_is_new_once_in_whatever_order_steps_come) {
  RunState state(2, 80);
  const auto is_new = [&](int step) {
    return state.take_metrics("{\"step\":" + std::to_string(step) +
                              ",\"time\":50,\"train_loss\":5}");
  };
  for (const int step : {1, 0, 3, 4, 2, 6}) BOOST_TEST(is_new(step));
  for (const int step : {0, 1, 2, 3, 4, 6}) BOOST_TEST(!is_new(step));
  BOOST_TEST(is_new(5));
  BOOST_TEST(!is_new(6));
  BOOST_TEST(state.closings() == 14u);
}

BOOST_AUTO_TEST_CASE(the_summary_says_how_the_run_ended) {
  RunState state(2, 80);
  state.take_metrics(metrics(0, 5.5));
  RunReport report;
  report.reason = "it \"broke\"";
  const std::string text = summary_json(two_stages(), state, report, 2.5);
  for (const char* part :
       {"\"status\": \"failed\"", "\"reason\": \"it \\\"broke\\\"\"", "\"bigram_loss\": 2.5",
        "\"validation_loss\": null", "\"steps_closed\": 1"})
    BOOST_TEST(text.find(part) != std::string::npos, part);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(TimelineTest)

BOOST_AUTO_TEST_CASE(an_entry_is_due_once_and_in_time) {
  const auto timeline = two_stages().timeline;
  BOOST_TEST(due(timeline, {}, 2, 9.9).empty());
  BOOST_TEST(due(timeline, {}, 3, 9.9) == (std::vector<size_t>{0}));
  BOOST_TEST(due(timeline, {}, 4, 10) == (std::vector<size_t>{0, 1}));
  BOOST_TEST(due(timeline, {0}, 4, 10) == (std::vector<size_t>{1}));
}

BOOST_AUTO_TEST_CASE(a_stage_without_processes_ends_the_run_unless_one_returns) {
  const auto e = two_stages();
  BOOST_TEST(cannot_go_on(e, {"a", "b", "t"}, {0, 1}) == "");
  BOOST_TEST(cannot_go_on(e, {"b", "t"}, {0, 1}) == "");
  BOOST_TEST(cannot_go_on(e, {"a", "t"}, {0, 1}) == "no process is left that serves stage 1");
  BOOST_TEST(cannot_go_on(e, {"a", "t"}, {0}) == "");
  BOOST_TEST(cannot_go_on(e, {"a", "b"}, {0, 1}) == "no trainer process is left");
}

BOOST_AUTO_TEST_CASE(a_process_that_serves_any_stage_may_serve_the_missing_one) {
  auto e = two_stages();
  BOOST_TEST(cannot_go_on(e, {"a", "t"}, {0, 1}) != "");
  e.nodes[0].stages = {actors::kAnyStage};
  BOOST_TEST(cannot_go_on(e, {e.nodes[0].name, "t"}, {0, 1}) == "");
}

BOOST_AUTO_TEST_CASE(a_stage_that_has_copies_is_taken_over_by_a_process_that_another_can_spare) {
  auto e = two_stages();
  auto another = e.nodes[0];
  another.name = "c";
  e.nodes.push_back(another);
  BOOST_TEST(cannot_go_on(e, {"a", "c", "t"}, {0, 1}) == "");
  BOOST_TEST(cannot_go_on(e, {"c", "t"}, {0, 1}) != "");
  e.base.checkpoint.copies = 0;
  BOOST_TEST(cannot_go_on(e, {"a", "c", "t"}, {0, 1}) != "");
}

BOOST_AUTO_TEST_CASE(preemptions_follow_the_files_entries_and_keep_their_places) {
  auto e = two_stages();
  e.nodes[0].preempt = {{60, 5}, {100, 7}};
  e.nodes[2].preempt = {{1, 2}};
  e.nodes[2].preempt_by = config::PreemptBy::kStop;
  const auto timeline = with_preemptions(e);
  BOOST_REQUIRE(timeline.size() == 2u + 4u + 2u);
  BOOST_TEST(timeline[0].at_step == 3);
  BOOST_TEST(due(timeline, {0, 1}, 4, 64) == (std::vector<size_t>{2, 6, 7}));
  BOOST_TEST(due(timeline, {0, 1, 2, 6, 7}, 4, 65) == (std::vector<size_t>{3}));
  BOOST_TEST((timeline[3].action == config::TimelineAction::kStart));
  BOOST_TEST((timeline[6].action == config::TimelineAction::kStop));
  BOOST_TEST(timeline[6].node == "t");
  BOOST_TEST(will_return(timeline, {2}, "a"));
  e.timeline = timeline;
  BOOST_TEST(cannot_go_on(e, {"a", "b"}, {0, 1, 6}) == "");  // the trainer returns
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
