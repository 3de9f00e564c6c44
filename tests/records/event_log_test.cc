#include "records/event_log.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "records/line_tail.h"
#include "records/segments.h"

namespace swarm::records {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    char name[] = "/tmp/swarm-event-log-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  uint64_t bytes(const std::string& file) const {
    std::error_code none;
    uint64_t sum = fs::exists(path + "/" + file) ? fs::file_size(path + "/" + file) : 0;
    for (const auto& piece : segments_of(path + "/" + file)) sum += fs::file_size(piece.path, none);
    return sum;
  }
  std::vector<std::string> lines(const std::string& file) const {
    return LineTail(path + "/" + file).poll();
  }
  std::vector<Event> events() const {
    std::vector<Event> out;
    for (const auto& line : lines("events.jsonl")) out.push_back(parse_event(line).value());
    return out;
  }
  std::string path;
};

std::shared_ptr<EventLog> open(const Folder& folder, uint64_t total_bytes = 1 << 20,
                               LostLines lost = nullptr) {
  auto log = open_event_log(folder.path, "n", {total_bytes}, {total_bytes, true, {}}, lost);
  BOOST_REQUIRE(log.ok());
  return *log;
}

/// What a swarm of 4 stages x 2 peers closes: two thirds of the slots of each stage went the usual
/// way, a few were tried again.
class Story {
 public:
  explicit Story(uint32_t slots) : slots_(slots) {
    for (auto& peer : peers_) {
      for (auto& byte : peer.node.bytes) byte = static_cast<uint8_t>(random_());
      peer.actor = "stage.0";
    }
  }
  ClosedStep closed(uint64_t step) {
    ClosedStep line;
    line.step = line.computed_on = step;
    line.term = 1;
    line.slots = slots_;
    line.samples = slots_ * 4;
    line.microbatch = 4;
    line.first_sample = step * line.samples;
    line.attempts = slots_ + (step % 50 == 0);
    line.configuration = 9;
    line.history = random_();
    for (uint64_t stage = 0; stage < 4; ++stage) {
      ClosedStep::Stage one{(uint64_t{1} << 40) + step * 4 + stage, random_(), {}};
      for (uint64_t i = 0; i < 2; ++i) {
        HeldSlots held{peers_[stage * 2 + i], fmt::format("stage{}-{}", stage, i), {}, {}};
        one.members.push_back(held);
      }
      for (uint32_t slot = 0; slot < slots_; ++slot) {
        const uint64_t turn = slot % 2, other = random_() % 8 == 0;
        auto& held = one.members[turn ^ other];
        held.slots.push_back(slot);
        held.attempts.push_back((uint64_t{1} << 38) + slot + 1);
      }
      line.stages.push_back(one);
    }
    return line;
  }
  CommittedStep committed(const ClosedStep& closed, uint32_t stage, size_t member) {
    const auto& one = closed.stages[stage];
    CommittedStep line;
    line.step = closed.step;
    line.stage = stage;
    line.round = one.round;
    line.digest = one.digest;
    line.checksum = random_();
    line.held = one.members[member];
    line.history = closed.history;
    return line;
  }

 private:
  std::mt19937_64 random_{3};
  uint32_t slots_;
  PeerId peers_[8];
};

BOOST_AUTO_TEST_SUITE(EventLogTest)

BOOST_AUTO_TEST_CASE(of_events_that_say_the_same_the_rest_is_a_number) {
  Folder folder;
  {
    auto log = open(folder);
    for (int i = 0; i < 100; ++i) log->record(1, 7, PeerLost{"a", "the link is lost"});
    for (int i = 0; i < 30; ++i) log->record(1, 7 + i, PeerLost{"a", "the link is lost"});
    for (int i = 0; i < 30; ++i)
      log->record(-1, 7, SumDropped{5, "held too much"});  // audit counts
  }
  std::map<std::string, int> count;
  for (const auto& event : folder.events()) {
    ++count[event.name];
    if (const auto repeated = event.as<Repeated>()) {
      BOOST_TEST(repeated->name == "lost");
      BOOST_TEST(repeated->times == 81u);  // 100 + the first of the other loop, less 20
    }
  }
  BOOST_TEST(count["lost"] == 20 + 29);
  BOOST_TEST(count["sum_dropped"] == 30);
  BOOST_TEST(count["repeated"] == 1);
}

BOOST_AUTO_TEST_CASE(lines_that_a_full_disk_did_not_take_are_told) {
  constexpr int kMany = 100'000;
  Folder folder;
  const LostLines lost = std::make_shared<std::atomic<uint64_t>>(0);
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  {
    auto log = open(folder, 1 << 20, lost);
    log->record(-1, 0, NodeLeaving{});
    struct rlimit full = {fs::file_size(folder.path + "/events.jsonl") + 5, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    for (int i = 0; i < kMany; ++i) log->record(-1, i, NodeLeft{});
    ::setrlimit(RLIMIT_FSIZE, &before);
    log->closed(ClosedStep{});
    log->record(-1, kMany, NodeLeft{});
  }
  ::signal(SIGXFSZ, handler);
  const auto events = folder.events();    // every line is whole
  const size_t kept = events.size() - 3;  // of kMany: as many as are held until there is room
  BOOST_TEST(kept > 10'000u);
  for (size_t i = 0; i < kept; ++i) BOOST_REQUIRE(events[i + 1].step == static_cast<int64_t>(i));
  BOOST_REQUIRE(events[kept + 1].is<LinesLost>());
  BOOST_TEST(events[kept + 1].as<LinesLost>()->lines == kMany - kept);
  BOOST_TEST(*lost == kMany - kept);  // who asks later is told, too
  BOOST_TEST(events.back().step == kMany);
  BOOST_TEST(folder.lines("audit.jsonl").size() == 1u);
}

BOOST_AUTO_TEST_CASE(steps_without_end_fill_no_disk_and_the_audit_keeps_all) {
  constexpr uint64_t kCap = 400'000;
  constexpr int kSteps = 4'000;
  Folder folder;
  uint64_t most_events = 0, most_metrics = 0;
  {
    auto log = open(folder, kCap);
    Story story(16);
    std::mt19937_64 random(1);  // nothing for zstd to find
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < 8; ++i)
        log->record(i / 2, step, PeerLost{std::to_string(random()), std::to_string(random())});
      StepMetrics metrics;
      metrics.step = static_cast<uint64_t>(step);
      metrics.train_loss = static_cast<double>(random()) * 1e-19;
      metrics.gradient_norm = static_cast<double>(random()) * 1e-19;
      log->metrics(metrics);
      log->closed(story.closed(metrics.step));
      if (step % 16 != 0) continue;
      most_events = std::max(most_events, folder.bytes("events.jsonl"));
      most_metrics = std::max(most_metrics, folder.bytes("metrics.jsonl"));
    }
  }
  BOOST_TEST(most_events <= kCap);
  BOOST_TEST(most_metrics <= kCap);
  const auto events = folder.events();
  BOOST_TEST(events.size() < 8u * kSteps);  // the oldest are gone ...
  BOOST_TEST(events.size() > 2'000u);
  for (size_t i = 0; i < events.size(); ++i)  // ... and no others
    BOOST_TEST(events[i].step == static_cast<int64_t>((8u * kSteps - events.size() + i) / 8));
  const auto audit = folder.lines("audit.jsonl");
  BOOST_REQUIRE(audit.size() == size_t{kSteps});
  for (size_t i = 0; i < audit.size(); ++i)
    BOOST_TEST(std::get<ClosedStep>(parse_audit_line(audit[i])->record).step == i);
}

/// What a step takes in the compressed audit of the coordinator and of a peer.
BOOST_AUTO_TEST_CASE(a_step_takes_little_of_the_audit) {
  constexpr int kSteps = 2'000;
  for (const uint32_t slots : {16u, 128u}) {
    Folder coordinator, peer;
    Story story(slots);
    {
      auto closes = open(coordinator, 4'000'000), commits = open(peer, 1'000'000);
      for (int step = 0; step < kSteps; ++step) {
        const auto closed = story.closed(static_cast<uint64_t>(step));
        closes->closed(closed);
        commits->committed(story.committed(closed, 1, 0));
      }
    }
    const auto a_step = [&](const Folder& folder) {
      uint64_t bytes = 0, lines = 0;
      for (const auto& piece : segments_of(folder.path + "/audit.jsonl"))
        bytes += fs::file_size(piece.path);
      std::ifstream live(folder.path + "/audit.jsonl");
      for (std::string line; std::getline(live, line);) ++lines;
      return static_cast<double>(bytes) / static_cast<double>(kSteps - lines);
    };
    BOOST_TEST(a_step(coordinator) < (slots == 16 ? 130 : 360));
    BOOST_TEST(a_step(peer) < (slots == 16 ? 50 : 80));
    BOOST_TEST_MESSAGE(slots << " slots: " << a_step(coordinator) << " bytes a step and closing, "
                             << a_step(peer) << " a commit");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::records
