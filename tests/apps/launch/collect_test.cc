/// Collecting: what is fetched from a node, what is kept of an interrupted fetch, and the run folder
/// that comes of it.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "apps/launch/fetch_node.h"
#include "apps/launch/merge_records.h"
#include "apps/launch/run_folder.h"
#include "common/names.h"
#include "records/audit.h"
#include "records/node_files.h"
#include "records/summary.h"
#include "records/zstd_file.h"
#include "tests/apps/launch/collect_fakes.h"

namespace swarm::launch {
namespace {

const std::string kLong = "0123456789abcdefghijklmnopqrstuvwxyz";

}  // namespace

BOOST_AUTO_TEST_SUITE(CollectTest)

BOOST_FIXTURE_TEST_CASE(records_are_fetched_once, Folder) {
  FakeNode node;
  node.files = {{"events.jsonl", kLong}, {"config.toml", "[run]\n"}};
  BOOST_TEST(fetch_records(node, node.holdings(), path).value().bytes == 42u);
  BOOST_TEST(read("events.jsonl") == kLong);
  BOOST_TEST(read("config.toml") == "[run]\n");
  node.given = 0;
  BOOST_TEST(fetch_records(node, node.holdings(), path).value().bytes == 0u);
  node.files["events.jsonl"] += "more";
  BOOST_TEST(fetch_records(node, node.holdings(), path).value().bytes == 4u);
  BOOST_TEST(node.given == 4u);  // only what is new
  BOOST_TEST(read("events.jsonl") == kLong + "more");
}

BOOST_FIXTURE_TEST_CASE(an_interrupted_fetch_goes_on_where_it_was, Folder) {
  FakeNode node;
  node.files = {{"audit.jsonl", kLong}};
  node.answers = 2;
  BOOST_TEST((fetch_records(node, node.holdings(), path).code() == ErrorCode::kLinkLost));
  BOOST_TEST(!has("audit.jsonl"));  // nothing that is not whole
  node.answers = 1'000;
  BOOST_TEST(fetch_records(node, node.holdings(), path).value().bytes == 16u);
  BOOST_TEST(read("audit.jsonl") == kLong);
}

BOOST_FIXTURE_TEST_CASE(the_rest_of_a_file_is_resumed_too, Folder) {
  FakeNode node;
  write("audit.jsonl", kLong.substr(0, 5));
  node.files = {{"audit.jsonl", kLong}};
  node.answers = 2;
  BOOST_TEST((fetch_records(node, node.holdings(), path).code() == ErrorCode::kLinkLost));
  BOOST_TEST(read("audit.jsonl") == kLong.substr(0, 5));
  node.answers = 1'000;
  BOOST_TEST(fetch_records(node, node.holdings(), path).value().bytes == 11u);
  BOOST_TEST(read("audit.jsonl") == kLong);
  BOOST_TEST(std::distance(fs::directory_iterator(path), {}) == 1);  // no parts are left
}

/// The contents of the files beside `name` that were kept when its node began it anew.
std::vector<std::string> kept_of(const Folder& folder, const std::string& name) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder.path))
    if (entry.path().filename().string().rfind(name + records::kKeptMark, 0) == 0)
      out.push_back(records::read_file(entry.path().string()).value());
  return out;
}

BOOST_FIXTURE_TEST_CASE(lines_of_a_file_that_its_node_began_anew_are_kept, Folder) {
  FakeNode node;
  write("audit.jsonl", "of the first life\nhalf a li");
  write("node.json", "{\"pid\":1}");
  node.files = {{"audit.jsonl", "of the second life, which was longer than the first\n"},
                {"node.json", "{\"pid\":2}"}};
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit.jsonl") == node.files["audit.jsonl"]);
  BOOST_TEST(read("node.json") == "{\"pid\":2}");
  const std::vector<std::string> kept = {"of the first life\nhalf a li"};
  BOOST_TEST(kept_of(*this, "audit.jsonl") == kept, boost::test_tools::per_element());
  BOOST_TEST(kept_of(*this, "node.json").empty());
  node.files["audit.jsonl"] = "a third\n";  // shorter
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit.jsonl") == "a third\n");
  BOOST_TEST(kept_of(*this, "audit.jsonl").size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(what_is_here_stays_until_what_replaces_it_is_whole, Folder) {
  FakeNode node;
  write("audit.jsonl", "of the first life, a long one indeed\n");
  write("config.toml", "old");
  node.files = {{"audit.jsonl", "of the second life\n"}, {"config.toml", "entirely new"}};
  const auto listed = node.holdings();
  node.answers = 1;
  BOOST_TEST((fetch_records(node, listed, path).code() == ErrorCode::kLinkLost));
  BOOST_TEST(read("audit.jsonl") == "of the first life, a long one indeed\n");
  node.answers = 2;
  BOOST_TEST((fetch_records(node, listed, path).code() == ErrorCode::kLinkLost));
  BOOST_TEST(read("config.toml") == "old");
}

BOOST_FIXTURE_TEST_CASE(a_torn_end_that_its_node_dropped_is_no_other_life, Folder) {
  FakeNode node;
  write("audit.jsonl", "one\nhalf a li");
  node.files = {{"audit.jsonl", "one\ntwo\nthree\nfour\n"}};
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit.jsonl") == node.files["audit.jsonl"]);
  BOOST_TEST(kept_of(*this, "audit.jsonl").empty());
}

BOOST_FIXTURE_TEST_CASE(pieces_are_fetched_as_they_are_and_the_file_goes_on_behind_them, Folder) {
  FakeNode node;
  write("audit.jsonl", "one\n");  // fetched before its node put it aside
  node.files = {{"audit-000001.jsonl.zst", "compressed"}, {"audit.jsonl", "three\n"}};
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit-000001.jsonl.zst") == "compressed");
  BOOST_TEST(read("audit.jsonl") == "three\n");
  BOOST_TEST(kept_of(*this, "audit.jsonl").size() ==
             1u);  // until the merge finds them in the piece
  node.given = 0;
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(node.given == 0u);
  node.files["audit-000001.jsonl.zst"] = "of another life";
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(kept_of(*this, "audit-000001.jsonl.zst").size() == 1u);
}

/// What the first pieces of an audit became, one line.
std::string fold_of(uint64_t first, uint64_t through, uint64_t lines, double last_s = 0) {
  records::FoldedAudit fold;
  fold.first = first;
  fold.through = through;
  fold.lines = lines;
  fold.writers.push_back({"m1", 1, 1, last_s});
  return to_json(records::AuditLine{fold, last_s + 1'000, "m1"}) + "\n";
}

BOOST_FIXTURE_TEST_CASE(what_was_folded_of_an_audit_that_its_node_began_anew_is_kept, Folder) {
  for (const bool folds : {false, true}) {  // the node, in its new life
    const std::string old = fold_of(7, 2, folds ? 10 : 99);
    write("audit-folded.jsonl", old);
    write("audit-000002.jsonl.zst", "void");
    write("audit-000003.jsonl.zst", "of the first life");
    FakeNode node;
    node.files = {{"audit-000003.jsonl.zst", "of the second life"}, {"audit.jsonl", "tail\n"}};
    if (folds) node.files["audit-folded.jsonl"] = fold_of(8, 2, 50);
    if (!folds) node.files["audit-000001.jsonl.zst"] = "of the second life, too";
    BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
    BOOST_TEST(kept_of(*this, "audit-folded.jsonl") == std::vector<std::string>{old},
               boost::test_tools::per_element());
    BOOST_TEST(kept_of(*this, "audit-000002.jsonl.zst").empty());
    BOOST_TEST(!has("audit-000002.jsonl.zst"));
    BOOST_TEST(kept_of(*this, "audit-000003.jsonl.zst").size() == 1u);
    for (const auto& [name, text] : node.files) BOOST_TEST(read(name) == text);
    BOOST_TEST(has("audit-folded.jsonl") == folds);
    for (const auto& entry : fs::directory_iterator(path)) fs::remove(entry);
  }
}

BOOST_FIXTURE_TEST_CASE(what_a_node_has_folded_since_replaces_what_it_had_folded, Folder) {
  write("audit-folded.jsonl", fold_of(7, 2, 20));
  FakeNode node;
  node.files = {{"audit-folded.jsonl", fold_of(7, 4, 40)}};
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit-folded.jsonl") == fold_of(7, 4, 40));
  node.files = {{"audit-folded.jsonl", fold_of(7, 3, 30)}};  // an older copy
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit-folded.jsonl") == fold_of(7, 4, 40));
  BOOST_TEST(std::distance(fs::directory_iterator(path), {}) == 1);
  node.files = {{"audit-folded.jsonl", fold_of(0, 3, 30)}};  // of which file is not known
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit-folded.jsonl") == fold_of(0, 3, 30));
  BOOST_TEST(kept_of(*this, "audit-folded.jsonl").size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(an_older_copy_takes_nothing_away, Folder) {
  FakeNode node;
  write("audit.jsonl", "one\ntwo\n");
  node.files = {{"audit.jsonl", "one\n"}};
  BOOST_REQUIRE(fetch_records(node, node.holdings(), path).ok());
  BOOST_TEST(read("audit.jsonl") == "one\ntwo\n");
  BOOST_TEST(node.given == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_file_of_other_content_than_listed_is_refused, Folder) {
  FakeNode node;
  node.files = {{"text.json", "before"}};
  const auto listed = node.holdings();
  node.files["text.json"] = "behind";
  BOOST_TEST((fetch_records(node, listed, path).code() == ErrorCode::kCorruptCheckpoint));
  node.files["text.json"] = "";
  BOOST_TEST((fetch_records(node, listed, path).code() == ErrorCode::kCorruptCheckpoint));
}

BOOST_FIXTURE_TEST_CASE(a_node_cannot_name_where_its_files_go, Folder) {
  FakeNode node;
  for (const char* name : {"../escape", "/tmp/x", "db/CURRENT", "other.txt"}) {
    node.files = {{name, "x"}};
    BOOST_TEST((fetch_records(node, node.holdings(), path + "/node").code() ==
                ErrorCode::kInvalidArgument));
  }
  BOOST_TEST(!has("escape"));
}

BOOST_FIXTURE_TEST_CASE(a_snapshot_is_fetched_resumed_and_confirmed, Folder) {
  FakeNode node;
  MemoryStore store;
  node.snapshot = kLong;
  node.answers = 2;
  BOOST_TEST((fetch_snapshot(node, {3, 40}, path, store).code() == ErrorCode::kLinkLost));
  BOOST_TEST(store.values.empty());
  node.answers = 1'000;
  node.given = 0;
  BOOST_TEST(fetch_snapshot(node, {3, 40}, path, store).value().bytes == 16u);
  BOOST_TEST(store.values.at({stage_key(3), 40}) == kLong);
  BOOST_TEST(fs::is_empty(path));  // no parts are left
  node.given = 0;
  BOOST_TEST(fetch_snapshot(node, {3, 40}, path, store).value().bytes == 0u);
  BOOST_TEST(node.given == 10u);  // its digest is asked for
}

BOOST_FIXTURE_TEST_CASE(a_damaged_part_is_thrown_away_and_fetched_anew, Folder) {
  FakeNode node;
  MemoryStore store;
  node.snapshot = kLong;
  node.answers = 2;
  BOOST_TEST(!fetch_snapshot(node, {0, 1}, path, store).ok());
  const auto part = fs::directory_iterator(path)->path();
  std::ofstream(part, std::ios::in | std::ios::out) << "damaged";
  node.answers = 1'000;
  BOOST_REQUIRE(fetch_snapshot(node, {0, 1}, path, store).ok());
  BOOST_TEST(store.values.at({stage_key(0), 1}) == kLong);
}

// -- the run folder

namespace {

/// Two of three machines' records.
struct Collected : Folder {
  Collected() {
    write("nodes/m1/config.toml", kFile);
    write("nodes/m1/events.jsonl", event("m1", 2, "leaving") + event("m1", 9, "left"));
    write("nodes/m1/metrics.jsonl", metrics(0, 3, 2.5) + metrics(1, 5, 2.0));
    write("nodes/m1/audit.jsonl", "{\"kind\": \"closed\", \"step\": 0}\n{\"kind\": \"clos");
    write("nodes/m2/config.toml", kFile);
    write("nodes/m2/events.jsonl", event("m2", 1, "leaving") + "half a li");
    write("nodes/m2/metrics.jsonl",
          metrics(1, 4, 7.0));  // decided before m1's, by a coordinator that died
    write("nodes/m2/audit.jsonl", "no json\n{\"kind\": \"committed\", \"step\": 0}\n");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(nodes_records_become_a_run_folder, Collected) {
  const auto run = merge_records(path);
  BOOST_REQUIRE_MESSAGE(run.ok(), (run.ok() ? "" : run.error().detail));
  BOOST_TEST(run->steps == 2u);
  BOOST_TEST(run->steps_closed == 2u);
  BOOST_TEST(!run->finished);
  const std::vector<std::string> named = {"m1", "m2", "m3"};
  BOOST_TEST(run->nodes == named, boost::test_tools::per_element());
  BOOST_TEST(run->notes.size() == 1u);  // m2's damaged line of the audit
  BOOST_TEST(read("events.jsonl") ==
             event("m2", 1, "leaving") + event("m1", 2, "leaving") + event("m1", 9, "left"));
  BOOST_TEST(read("metrics.jsonl") == metrics(0, 3, 2.5) + metrics(1, 4, 7.0));
  BOOST_TEST(read("audit.jsonl") ==
             "{\"kind\": \"closed\", \"step\": 0}\n{\"kind\": \"committed\", \"step\": 0}\n");
  const auto summary = records::parse_summary(read("summary.json"));
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->status == "interrupted");
  BOOST_TEST(summary->run_id == "three-1");
  BOOST_TEST(summary->seconds == 2.0);
  BOOST_TEST(read_experiment_of(path).ok());
}

BOOST_FIXTURE_TEST_CASE(merging_again_changes_nothing_but_what_is_new, Collected) {
  BOOST_REQUIRE(merge_records(path).ok());
  const auto before = read("events.jsonl"), audit = read("audit.jsonl");
  BOOST_REQUIRE(merge_records(path).ok());
  BOOST_TEST(read("events.jsonl") == before);
  BOOST_TEST(read("audit.jsonl") == audit);
  write("nodes/m3/events.jsonl",
        "{\"time\": 4, \"node\": \"m3\", \"event\": \"finished\", \"level\": "
        "\"info\", \"steps\": 2}\n");
  const auto run = merge_records(path);
  BOOST_REQUIRE(run.ok());
  BOOST_TEST(run->finished);
}

BOOST_FIXTURE_TEST_CASE(a_nodes_lines_of_several_lives_are_merged_each_once, Collected) {
  write("nodes/m1/events.jsonl.kept-0123",
        event("m1", 0.5, "leaving") + event("m1", 2, "leaving") + "half");
  const std::string line = "{\"kind\": \"committed\", \"step\": 7}\n";
  write("nodes/m2/audit.jsonl.kept-4567", line + line);  // twice by itself: seen twice
  write("nodes/m2/audit.jsonl", line + "{\"kind\": \"committed\", \"step\": 0}\n");
  const auto run = merge_records(path);
  BOOST_REQUIRE(run.ok());
  BOOST_TEST(run->notes.empty());
  BOOST_TEST(read("events.jsonl") == event("m1", 0.5, "leaving") + event("m2", 1, "leaving") +
                                         event("m1", 2, "leaving") + event("m1", 9, "left"));
  BOOST_TEST(read("audit.jsonl") == "{\"kind\": \"closed\", \"step\": 0}\n" + line + line +
                                        "{\"kind\": \"committed\", \"step\": 0}\n");
}

BOOST_FIXTURE_TEST_CASE(pieces_are_merged_before_their_file_and_what_was_kept_counts_once,
                        Collected) {
  const auto line = [](int step) {
    return "{\"kind\": \"committed\", \"step\": " + std::to_string(step) + "}\n";
  };
  const std::string folder = path + "/nodes/m2/";
  write("nodes/m2/audit.jsonl", line(1) + line(2) + line(2));
  const std::string piece = folder + "audit-000001.jsonl.zst";
  BOOST_REQUIRE(records::compress_file(folder + "audit.jsonl", piece).ok());
  write("nodes/m2/audit.jsonl", line(0));
  const std::string other = piece + ".kept-89ab";  // of another life
  BOOST_REQUIRE(records::compress_file(folder + "audit.jsonl", other).ok());
  write("nodes/m2/audit-000002.jsonl", line(3));  // not compressed yet
  write("nodes/m2/audit.jsonl", line(2) + line(4));
  write("nodes/m2/audit.jsonl.kept-4567", line(1) + line(2));  // fetched before
  const auto run = merge_records(path);
  BOOST_REQUIRE(run.ok());
  BOOST_TEST(run->notes.empty());
  BOOST_TEST(read("audit.jsonl") == "{\"kind\": \"closed\", \"step\": 0}\n" + line(0) + line(1) +
                                        line(2) + line(2) + line(3) + line(2) + line(4));
}

BOOST_FIXTURE_TEST_CASE(what_was_kept_stands_in_the_order_in_which_it_was_written, Collected) {
  const auto line = [](int step) {
    return fmt::format("{{\"time\": {0}, \"kind\": \"committed\", \"step\": {0}}}\n", step);
  };
  const std::string fold = fold_of(7, 2, 20, 4);
  write("nodes/m1/audit.jsonl", "");
  write("nodes/m2/audit-folded.jsonl.kept-01", fold);
  write("nodes/m2/audit-000003.jsonl.kept-02", line(5) + line(6));
  write("nodes/m2/audit.jsonl.kept-03", line(7));
  write("nodes/m2/audit.jsonl.kept-04", line(3));  // fetched before it was folded
  write("nodes/m2/audit.jsonl.kept-05", line(5));  // ... before it was put aside
  write("nodes/m2/audit-000001.jsonl", line(8) + line(9));
  write("nodes/m2/audit.jsonl.kept-06", line(9));
  write("nodes/m2/audit.jsonl", line(10));
  BOOST_REQUIRE(merge_records(path).ok());
  BOOST_TEST(read("audit.jsonl") ==
             line(3) + fold + line(5) + line(6) + line(7) + line(8) + line(9) + line(10));
}

BOOST_FIXTURE_TEST_CASE(records_of_two_runs_are_not_mixed, Collected) {
  std::string other = kFile;
  other.replace(other.find("three-1"), 7, "three-2");
  write("nodes/m2/config.toml", other);
  const auto run = merge_records(path);
  BOOST_TEST((run.code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(run.error().detail.find("three-2") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_folder_without_records_is_an_error, Folder) {
  BOOST_TEST((merge_records(path).code() == ErrorCode::kNotFound));
  write("nodes/m1/events.jsonl", "");
  BOOST_TEST((merge_records(path).code() == ErrorCode::kNotFound));  // of which run?
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
