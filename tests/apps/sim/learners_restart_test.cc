/// A peer that is killed while it learns goes on with what it had (docs/averaging.md, "After a
/// restart"): the real actors, bytes that take time, disks that outlive processes, virtual time.
#include <functional>
#include <vector>

#include "swarm/state.pb.h"
#include "tests/support/learners.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

/// "s0c" is to learn a state that takes 20 steps, and is killed half-way.
struct KilledLearners : testing::Learners {
  double steps_per_s = 0;
  std::optional<records::DownloadResumed> resumed;

  KilledLearners() {
    const auto write = observer.event;
    observer.event = [this, write](const std::string& node, const records::Event& event) {
      write(node, event);
      if (const auto one = event.as<records::DownloadResumed>()) resumed = *one;
    };
  }
  double download_s() const { return 20 / steps_per_s; }
  void begin_to_learn() {
    begin(40ms);
    steps_per_s = pace(20s);
    state_transfer_options.state_bytes_per_s = state_bytes / download_s();
    start("s0c");
    BOOST_REQUIRE(system.advance_until([this] { return began_s.has_value(); }, 20s, 5ms));
  }
  void learn_half() {
    system.advance(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(download_s() / 2)));
    BOOST_REQUIRE(!joined_s.has_value());
  }
  void begin_and_kill() {
    begin_to_learn();
    learn_half();
    kill("s0c");
    began_s.reset();
  }
  std::vector<uint64_t> blocks() {
    return sim::DiskStore(disks.at("s0c")).steps("learned/0").value();
  }
  /// What it left on its disk is changed by `change`.
  void change_blocks(const std::function<void(proto::KeptRanges&)>& change) {
    sim::DiskStore store(disks.at("s0c"), /*sync_at_once=*/true);
    for (const uint64_t number : blocks()) {
      const auto bytes = store.get({"learned/0", number});
      if (!bytes) continue;  // torn by the kill
      proto::KeptRanges block;
      BOOST_REQUIRE(block.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())));
      change(block);
      BOOST_REQUIRE(store.put_or_replace({"learned/0", number},
                                         Buffer::from_string(block.SerializeAsString()), 1'000));
    }
  }
  void joins_as_its_replicas() {
    start("s0c");
    BOOST_REQUIRE(joins(200s));
    joined_at = step();
    BOOST_TEST(becomes_equal());
    BOOST_TEST(events->count("replicas_differ") == 0u);
    BOOST_TEST(events->count("load_failed") == 0u);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LearnersThatAreKilled, KilledLearners)

BOOST_AUTO_TEST_CASE(killed_half_way_it_fetches_the_other_half) {
  begin_and_kill();
  BOOST_TEST(!blocks().empty());
  joins_as_its_replicas();
  BOOST_REQUIRE(resumed.has_value());
  BOOST_TEST(resumed->bytes == static_cast<uint64_t>(state_bytes));
  BOOST_TEST(static_cast<double>(resumed->kept_bytes) > 0.4 * state_bytes);
  BOOST_TEST(took_s() < 0.7 * download_s());
  BOOST_TEST(events->count("kept_ranges_refused") == 0u);
  system.advance(1s);
  BOOST_TEST(blocks().empty());  // whole: of no use any more
}

// The disk was read to its end before anybody was asked.
BOOST_AUTO_TEST_CASE(while_a_slow_disk_is_read_the_others_are_asked) {
  begin_and_kill();
  nodes.at("s0c").times.read = 5s;  // a block
  joins_as_its_replicas();
  BOOST_TEST(took_s() < 1.1 * download_s());
  BOOST_REQUIRE(resumed.has_value());  // what is read is of use
  BOOST_TEST(resumed->kept_bytes > 0u);
}

// It was said for every block, many times a step.
BOOST_AUTO_TEST_CASE(a_full_disk_is_told_once_in_a_download) {
  begin_to_learn();
  disks.at("s0c")->set_trouble({false, /*full=*/true});
  learn_half();
  BOOST_TEST(events->count("checkpoint_failed") == 1u);
  BOOST_TEST(blocks().empty());
}

BOOST_AUTO_TEST_CASE(what_was_learned_of_another_stage_is_removed) {
  disks["s0c"] = std::make_shared<sim::Disk>();
  sim::DiskStore before(disks["s0c"], /*sync_at_once=*/true);
  const Buffer bytes = Buffer::from_string("a block");
  BOOST_REQUIRE(before.put({"learned/1", 3}, bytes, 9));
  BOOST_REQUIRE(before.put({"stage/1", 3}, bytes, 9));
  begin(40ms);
  start("s0c");
  system.advance(1s);
  const sim::DiskStore now(disks["s0c"]);
  BOOST_TEST(now.steps("learned/1").value().empty());
  BOOST_TEST(now.steps("stage/1").value().size() == 1u);  // may be of use to others
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_where_it_is_not_wanted) {
  state_transfer_options.keep_bytes_per_s = 0;
  begin_and_kill();
  BOOST_TEST(blocks().empty());
  joins_as_its_replicas();
  BOOST_TEST(!resumed.has_value());
  BOOST_TEST(took_s() > 0.9 * download_s());
}

BOOST_AUTO_TEST_CASE(ranges_that_are_too_old_are_fetched_again) {
  begin_and_kill();
  const uint64_t killed_at = step();
  BOOST_REQUIRE(system.advance_until([&] { return step() > killed_at + 6; }, 60s, 10ms));
  joins_as_its_replicas();
  BOOST_REQUIRE(resumed.has_value());
  BOOST_TEST(resumed->kept_bytes == 0u);
  BOOST_TEST(static_cast<double>(resumed->too_old_bytes) > 0.4 * state_bytes);
  BOOST_TEST(took_s() > 0.9 * download_s());
}

BOOST_AUTO_TEST_CASE(what_is_of_another_run_is_refused_and_removed) {
  begin_and_kill();
  change_blocks([](proto::KeptRanges& block) { block.set_run_id("another"); });
  joins_as_its_replicas();
  BOOST_TEST(events->count("kept_ranges_refused") == 1u);
  BOOST_TEST(!resumed.has_value());
  BOOST_TEST(took_s() > 0.9 * download_s());
}

BOOST_AUTO_TEST_CASE(what_is_damaged_is_refused_once_and_fetched_again) {
  begin_and_kill();
  size_t number = 0;
  change_blocks([&number](proto::KeptRanges& block) {
    if (++number % 2 == 0) (*block.mutable_payload())[3] ^= 1;
  });
  joins_as_its_replicas();
  BOOST_TEST(events->count("kept_ranges_refused") == 1u);
  BOOST_REQUIRE(resumed.has_value());  // the others are as good as before
  BOOST_TEST(resumed->kept_bytes > 0u);
}

// A range of another history has another checksum at its step: no mean leads on from it.
BOOST_AUTO_TEST_CASE(ranges_of_another_history_are_fetched_again) {
  begin_and_kill();
  change_blocks([](proto::KeptRanges& block) {
    for (auto& range : *block.mutable_ranges()) range.set_checksum(range.checksum() + 1);
  });
  joins_as_its_replicas();
}

BOOST_AUTO_TEST_SUITE_END()
