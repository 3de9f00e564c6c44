#include "records/audit_fold.h"

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "records/catalogue.h"
#include "records/event_log.h"
#include "records/line_tail.h"

namespace swarm::records {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kStages = 2, kSlots = 4, kMicrobatch = 2, kBatch = 8;
constexpr AuditRules kRules{kBatch, kMicrobatch, false, true};

struct Folder {
  Folder() {
    char name[] = "/tmp/swarm-fold-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string audit() const { return path + "/audit.jsonl"; }
  std::vector<std::string> lines() const { return LineTail(audit()).poll(); }
  uint64_t bytes() const {
    uint64_t sum = 0;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(path)) {
      const auto size = entry.file_size(gone);
      sum += gone ? 0 : size;
    }
    return sum;
  }
  std::string path;
};

PeerId peer_of(uint32_t stage) {
  PeerId id;
  id.node.bytes[0] = static_cast<uint8_t>(1 + stage);
  id.actor = "stage." + std::to_string(stage);
  return id;
}
std::string name_of(uint32_t stage) { return "s" + std::to_string(stage); }

ClosedStep closing(uint64_t step) {
  ClosedStep closed;
  closed.step = closed.computed_on = step;
  closed.slots = closed.attempts = kSlots;
  closed.samples = kBatch;
  closed.first_sample = step * kBatch;
  closed.microbatch = kMicrobatch;
  closed.history = digest_of("history " + std::to_string(step));
  for (uint32_t stage = 0; stage < kStages; ++stage) {
    const uint64_t digest = digest_of(std::to_string(step * kStages + stage));
    const HeldSlots all{peer_of(stage), name_of(stage), {0, 1, 2, 3}, {digest % 1000, 1, 2, 3}};
    closed.stages.push_back({step + 1, digest, {all}});
  }
  return closed;
}

CommittedStep commit(const ClosedStep& closed, uint32_t stage) {
  const auto& round = closed.stages[stage];
  return {closed.step,
          stage,
          round.round,
          round.digest,
          digest_of(std::to_string(round.digest)),
          round.members[0],
          closed.history};
}

LoadedState seed(uint32_t stage) {
  return {stage, peer_of(stage), name_of(stage), 0, 7, "seed", 0};
}

template <class Record>
std::string line_of(const Record& record) {
  return to_json(AuditLine{record, 1, "n"});
}

FoldedAudit folded(const std::vector<std::string>& lines, FoldedAudit before = {}) {
  AuditFold fold(kRules, std::move(before));
  for (const auto& line : lines) BOOST_REQUIRE(fold.take(line).ok());
  return fold.result(1);
}

/// Two stages' seeds and `steps` right steps.
std::vector<std::string> right_lines(uint64_t steps) {
  std::vector<std::string> out = {line_of(seed(0)), line_of(seed(1))};
  for (uint64_t step = 0; step < steps; ++step) {
    out.push_back(line_of(closing(step)));
    for (uint32_t stage = 0; stage < kStages; ++stage)
      out.push_back(line_of(commit(closing(step), stage)));
  }
  return out;
}

FoldedAudit fold_of(const Folder& folder) {
  const auto lines = folder.lines();
  BOOST_REQUIRE(!lines.empty());
  const auto line = parse_audit_line(lines.front());
  BOOST_REQUIRE(line.ok());
  BOOST_REQUIRE(std::holds_alternative<FoldedAudit>(line->record));
  return std::get<FoldedAudit>(line->record);
}

BOOST_AUTO_TEST_SUITE(AuditFoldTest)

BOOST_AUTO_TEST_CASE(right_lines_are_counted_and_states_are_kept) {
  const auto sum = folded(right_lines(100));
  BOOST_TEST(!sum.violation);
  BOOST_TEST(sum.end == 100u);
  BOOST_TEST(sum.lines == 302u);
  BOOST_TEST(sum.closed == 100u);
  BOOST_TEST(sum.slots == 400u);
  BOOST_TEST(sum.samples == 800u);
  BOOST_TEST(sum.committed == 200u);
  BOOST_TEST(sum.not_compared == 0u);
  BOOST_TEST(sum.history == closing(99).history);
  BOOST_REQUIRE(sum.peers.size() == kStages);
  BOOST_TEST(sum.peers[1].step == 100u);
  BOOST_TEST(sum.peers[1].checksum == commit(closing(99), 1).checksum);
}

BOOST_AUTO_TEST_CASE(piece_by_piece_it_is_the_same_as_at_once) {
  const auto lines = right_lines(100);
  const auto at_once = folded(lines);
  const auto half = folded({lines.begin(), lines.begin() + 150});
  auto line = parse_audit_line(to_json(AuditLine{half, 1, "n"}));  // as it is read back
  BOOST_REQUIRE(line.ok());
  const auto sum = folded({lines.begin() + 150, lines.end()}, std::get<FoldedAudit>(line->record));
  BOOST_TEST(!sum.violation);
  BOOST_TEST(sum.digest == at_once.digest);
  BOOST_TEST(sum.first == digest_of(lines.front()));
  BOOST_TEST(sum.lines == at_once.lines);
  BOOST_TEST(sum.slots == at_once.slots);
  BOOST_TEST(sum.committed == at_once.committed);
  BOOST_TEST(sum.end == 100u);
}

BOOST_AUTO_TEST_CASE(the_first_violation_is_kept_and_the_others_are_counted) {
  auto lines = right_lines(10);
  auto twice = closing(10);
  twice.stages[0].members.push_back(twice.stages[0].members[0]);
  lines.push_back(line_of(twice));
  auto gap = commit(closing(12), 0);
  lines.push_back(line_of(gap));
  const auto sum = folded(lines);
  BOOST_REQUIRE(sum.violation.has_value());
  BOOST_TEST(sum.violation->find("step 10, stage 0: slot 0 is counted twice") == 0u);
  BOOST_TEST(sum.num_violations == 5u);  // four slots, and the gap
  BOOST_TEST(sum.not_compared == 1u);
}

BOOST_AUTO_TEST_CASE(a_commit_is_compared_with_its_closing_whichever_comes_first) {
  for (const bool closed_first : {true, false}) {
    auto done = commit(closing(0), 0);
    done.held.attempts = {5, 5, 5, 5};
    std::vector<std::string> lines = {line_of(seed(0)), line_of(closing(0)), line_of(done)};
    if (!closed_first) std::swap(lines[1], lines[2]);
    const auto sum = folded(lines);
    BOOST_REQUIRE(sum.violation.has_value());
    BOOST_TEST(sum.violation->find("held other slots or attempts") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(who_applied_another_average_than_was_decided_is_found) {
  auto done = commit(closing(0), 0);
  ++done.digest;
  const auto sum = folded({line_of(seed(0)), line_of(closing(0)), line_of(done)});
  BOOST_TEST(sum.violation.has_value());
  BOOST_TEST(sum.not_compared == 0u);
}

BOOST_AUTO_TEST_CASE(replicas_that_differ_are_a_violation_unless_one_was_replaced) {
  for (const bool repaired : {false, true}) {
    auto closed = closing(0);
    auto other = closed.stages[0].members[0];
    other.peer.node.bytes[0] = 99;
    other.node_name = "s0-b";
    closed.stages[0].members[0].slots = {0, 1};
    closed.stages[0].members[0].attempts = {1, 2};
    other.slots = {2, 3};
    other.attempts = {3, 4};
    closed.stages[0].members.push_back(other);
    auto load = seed(0);
    load.peer = other.peer;
    load.node_name = other.node_name;
    auto one = commit(closed, 0), two = one;
    two.held = other;
    ++two.checksum;
    std::vector<std::string> lines = {line_of(seed(0)), line_of(load), line_of(closed),
                                      line_of(one), line_of(two)};
    if (repaired) lines.push_back(line_of(make_event(0, 1, ReplicaReplaced{})));
    for (int i = 0; i < 40; ++i)  // more than are kept
      lines.push_back(line_of(make_event(-1, 1, Recovered{})));
    for (int i = 0; i < 1100; ++i) lines.push_back("{torn");
    const auto sum = folded(lines);
    BOOST_TEST(sum.violation.has_value() == !repaired);
    BOOST_TEST(sum.torn == 1100u);
  }
}

// They were in lines that nobody else has seen.
BOOST_AUTO_TEST_CASE(events_that_judge_pass_on_from_a_fold_that_is_folded) {
  const auto inner = folded({line_of(make_event(0, 1, ReplicaReplaced{}))});
  BOOST_REQUIRE(inner.events.size() == 1u);
  BOOST_TEST(folded({line_of(inner)}).events == inner.events, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_audit_line_is_refused) {
  AuditFold fold(kRules);
  BOOST_TEST(!fold.take("{\"kind\":\"closed\"}").ok());
}

/// Many steps of a node that coordinates and serves, with small pieces.
void write_steps(EventLog& log, uint64_t from, uint64_t to) {
  for (uint64_t step = from; step < to; ++step) {
    log.closed(closing(step));
    for (uint32_t stage = 0; stage < kStages; ++stage) log.committed(commit(closing(step), stage));
  }
}

std::shared_ptr<EventLog> open(const Folder& folder, uint64_t audit_bytes) {
  auto log = open_event_log(folder.path, "n", {}, {audit_bytes, false, fold_audit(kRules, "n")});
  BOOST_REQUIRE(log.ok());
  return *log;
}

BOOST_AUTO_TEST_CASE(steps_without_end_stay_below_the_limit_and_every_line_is_folded_or_there) {
  constexpr uint64_t kCap = 200'000, kSteps = 8'000;
  Folder folder;
  uint64_t most = 0;
  {
    auto log = open(folder, kCap);
    log->loaded(seed(0));
    log->loaded(seed(1));
    for (uint64_t step = 0; step < kSteps; step += 50) {
      write_steps(*log, step, step + 50);
      most = std::max(most, folder.bytes());
    }
  }
  const auto sum = fold_of(folder);
  BOOST_TEST_MESSAGE("at most " << most << " bytes, " << double(most) / kSteps << " a step, "
                                << sum.end << " steps folded, the line takes "
                                << folder.lines().front().size());
  BOOST_TEST(most <= kCap + 10'000);  // the folded line itself
  BOOST_TEST(sum.end > kSteps / 2);
  BOOST_TEST(!sum.violation);
  BOOST_TEST(sum.lines + folder.lines().size() - 1 == 2 + kSteps * 3);
  BOOST_TEST(!lost_its_beginning(folder.audit()));
}

BOOST_AUTO_TEST_CASE(a_damaged_piece_is_not_folded_and_that_is_told) {
  Folder folder;
  constexpr uint64_t kCap = 100'000;
  { write_steps(*open(folder, kCap), 0, 100); }
  const auto pieces = segments_of(folder.audit());
  BOOST_REQUIRE(pieces.size() > 1u);
  const std::string first = pieces.front().path;
  BOOST_REQUIRE(pieces.front().index == 1u);
  fs::resize_file(first, fs::file_size(first) / 2);
  { write_steps(*open(folder, kCap), 100, 3'000); }
  BOOST_TEST(fs::exists(first));
  BOOST_TEST(!fs::exists(folder.path + "/audit-folded.jsonl"));
  std::ifstream events(folder.path + "/events.jsonl");
  std::string told;
  std::getline(events, told);
  BOOST_TEST(told.find("audit_fold_refused") != std::string::npos);
  BOOST_TEST(told.find("audit-000001.jsonl") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_crash_before_the_folded_piece_goes_counts_nothing_twice) {
  Folder folder, kept;
  constexpr uint64_t kCap = 100'000;
  { write_steps(*open(folder, kCap), 0, 100); }
  for (const auto& piece : segments_of(folder.audit()))
    fs::copy(piece.path, kept.path + "/" + fs::path(piece.path).filename().string());
  { write_steps(*open(folder, kCap), 100, 3'000); }
  const auto sum = fold_of(folder);
  BOOST_REQUIRE(sum.through > 1u);
  const auto lines = folder.lines();
  // As if the writer had died between the rename and the removal.
  for (const auto& piece : segments_of(kept.audit()))
    fs::copy(piece.path, folder.path + "/" + fs::path(piece.path).filename().string());
  BOOST_TEST(folder.lines() == lines, boost::test_tools::per_element());
  const std::string first = folder.path + "/audit-000001.jsonl.zst";
  BOOST_TEST(fs::exists(first));
  { open(folder, kCap); }
  BOOST_TEST(!fs::exists(first));
  BOOST_TEST(folder.lines() == lines, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_reader_that_was_behind_gets_the_folded_line_and_what_follows) {
  Folder folder;
  auto log = open(folder, 100'000);
  write_steps(*log, 0, 10);
  LineTail tail(folder.audit());
  BOOST_TEST(tail.poll().size() == 30u);
  write_steps(*log, 10, 3'000);
  log.reset();
  BOOST_TEST(tail.poll() == folder.lines(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(events_by_which_the_audit_judges_stand_in_the_audit_too) {
  Folder folder;
  {
    auto log = open(folder, 1 << 20);
    log->record(-1, 5, Recovered{});
    log->record(-1, 5, NodeLeft{});
  }
  const auto lines = folder.lines();
  BOOST_REQUIRE(lines.size() == 1u);
  const auto line = parse_audit_line(lines.front());
  BOOST_REQUIRE(line.ok());
  const auto* event = std::get_if<Event>(&line->record);
  BOOST_REQUIRE(event != nullptr);
  std::ifstream events(folder.path + "/events.jsonl");
  std::string first;
  std::getline(events, first);
  BOOST_TEST(to_json(*event) == first);
  BOOST_TEST(to_json(*line) == lines.front());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::records
