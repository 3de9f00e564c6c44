#include "routing/state/keep_plan.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

namespace {

constexpr KeepPlan::Download kMuch{uint64_t{1} << 40};

struct Kept {
  KeepOptions options{/*ranges=*/20, /*range_bytes=*/8'192, /*bytes_per_s=*/8'192};
  KeepPlan plan{options, 0s};
  std::vector<std::optional<StateLabel>> held{20, StateLabel{Step(4), 1}};

  /// All of the block is written.
  void write(size_t block, Time now) {
    const auto [first, end] = plan.ranges(block);
    plan.writes(block, (end - first) * options.range_bytes, now);
    for (size_t i = first; i < end; ++i)
      if (held[i]) plan.stored(i, *held[i]);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(KeepPlanSuite, Kept)

BOOST_AUTO_TEST_CASE(blocks_make_up_the_state) {
  size_t next = 0;
  for (size_t block = 0; block < plan.blocks(); ++block) {
    const auto [first, end] = plan.ranges(block);
    BOOST_TEST(first == next);
    BOOST_TEST(end > first);
    next = end;
  }
  BOOST_TEST(next == 20u);
}

BOOST_AUTO_TEST_CASE(a_short_download_is_not_kept_and_neither_is_one_that_may_not_be) {
  BOOST_TEST(!plan.next(held, kMuch, KeepPlan::kFirstAfter - 1ms).has_value());
  BOOST_TEST(plan.next(held, kMuch, KeepPlan::kFirstAfter).has_value());
  options.bytes_per_s = 0;
  BOOST_TEST(!KeepPlan(options, 0s).next(held, kMuch, 1h).has_value());
}

BOOST_AUTO_TEST_CASE(each_block_is_written_once_and_again_when_its_ranges_have_changed) {
  std::set<size_t> written;
  Time now = 1h;
  for (size_t i = 0; i < plan.blocks(); ++i, now += 1h) {
    const auto block = plan.next(held, kMuch, now);
    BOOST_REQUIRE(block.has_value());
    BOOST_TEST(written.insert(*block).second);
    write(*block, now);
  }
  BOOST_TEST(!plan.next(held, kMuch, now).has_value());
  held[7] = StateLabel{Step(5), 2};
  const auto block = plan.next(held, kMuch, now);
  BOOST_REQUIRE(block.has_value());
  BOOST_TEST(plan.ranges(*block).first <= 7u);
  BOOST_TEST(plan.ranges(*block).second > 7u);
}

BOOST_AUTO_TEST_CASE(the_block_with_the_most_that_the_disk_lacks_goes_first_then_the_oldest) {
  held.assign(20, std::nullopt);
  held[3] = StateLabel{Step(4), 1};
  for (size_t i : {10u, 11u}) held[i] = StateLabel{Step(4), 1};
  const auto fullest = plan.next(held, kMuch, 1h);
  BOOST_REQUIRE(fullest.has_value());
  BOOST_TEST(plan.ranges(*fullest).first == 10u);
  held.assign(20, StateLabel{Step(4), 1});
  Time now = 1h;
  for (size_t i = 0; i < plan.blocks(); ++i, now += 1h) write(*plan.next(held, kMuch, now), now);
  held.assign(20, StateLabel{Step(5), 2});
  BOOST_TEST(*plan.next(held, kMuch, now) == 0u);
}

BOOST_AUTO_TEST_CASE(no_more_is_written_than_the_rate_and_twice_what_came) {
  const Time now = 1h;
  BOOST_TEST(!plan.next(held, {}, now).has_value());
  const auto block = plan.next(held, {1}, now);
  BOOST_REQUIRE(block.has_value());
  write(*block, now);
  const auto [first, end] = plan.ranges(*block);
  const uint64_t bytes = (end - first) * options.range_bytes;
  BOOST_TEST(!plan.next(held, {bytes / 2}, now + 1h).has_value());
  BOOST_TEST(plan.next(held, {bytes / 2 + 1}, now + 1h).has_value());
  const auto takes = std::chrono::seconds(bytes / 8'192);
  BOOST_TEST(!plan.next(held, kMuch, now + takes - 1ms).has_value());
  BOOST_TEST(plan.next(held, kMuch, now + takes).has_value());
}

BOOST_AUTO_TEST_CASE(what_the_disk_could_not_write_is_written_again) {
  Time now = 1h;
  for (size_t i = 0; i < plan.blocks(); ++i, now += 1h) write(*plan.next(held, kMuch, now), now);
  plan.spoiled(1);
  BOOST_TEST(*plan.next(held, kMuch, now) == 1u);
}

// Blocks of a large state were written in turns, and most were too old when they were read.
BOOST_AUTO_TEST_CASE(of_a_state_that_cannot_be_written_within_two_steps_a_part_is_kept_young) {
  constexpr size_t kRanges = 640, kRange = 16'384;
  constexpr auto kStep = 1s;
  // Ten ranges make a block; a step's writing is an eighth of the state, but the disk does half of it.
  const KeepOptions large{kRanges, kRange, /*bytes_per_s=*/kRanges * kRange / 8.0};
  KeepPlan keeps(large, 0s);
  BOOST_REQUIRE(keeps.blocks() == 64u);
  std::vector<std::optional<StateLabel>> has(kRanges);
  std::map<size_t, Step> disk;  // by block
  Time free_at = 0s;
  for (Time now = 0s; now < 60s; now += 5ms) {
    const Step step(static_cast<uint64_t>(now / kStep));
    for (auto& label : has) label = StateLabel{step, step.value()};
    const KeepPlan::Download download{uint64_t{1} << 40, 1};
    if (now >= free_at) {
      if (const auto block = keeps.next(has, download, now)) {
        const auto [first, end] = keeps.ranges(*block);
        const uint64_t bytes = (end - first) * kRange;
        const Time takes = std::chrono::milliseconds(250);  // 4 blocks a step
        keeps.writes(*block, bytes, now);
        for (size_t range = first; range < end; ++range) keeps.stored(range, *has[range]);
        keeps.wrote(bytes, takes);
        disk[*block] = step;
        free_at = now + takes;
      }
    }
    if (now < 20s) continue;
    BOOST_TEST(keeps.most_blocks(download.step_s) == 8u);
    size_t young = 0;
    for (const auto& [block, written] : disk) young += step.value() - written.value() <= 2;
    BOOST_TEST(young >= 8u);
  }
  BOOST_TEST(disk.size() < 20u);  // the rest was not written, or only before a step was known
}

BOOST_AUTO_TEST_CASE(where_steps_are_long_or_not_known_all_is_kept) {
  BOOST_TEST(plan.most_blocks(0) == plan.blocks());
  BOOST_TEST(plan.most_blocks(1'000) == plan.blocks());
  BOOST_TEST(plan.most_blocks(0.001) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
