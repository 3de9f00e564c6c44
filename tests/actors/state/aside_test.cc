// What a stage server's disk has of a line of history that was given up.
#include "actors/state/aside.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <set>

#include "apps/sim/disk.h"
#include "common/names.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {
namespace {

namespace tt = boost::test_tools;

using Lines = std::vector<std::string>;

struct Left {
  Left() {
    put("stage/0", 20, 1);
    put("stage/0", 40, 2);
    put("stage/0", 60, 33);
    put("stage/1", 40, 22);
    put("stage/2", 40, 2);
    put("stage/3", 40, 99);  // none of those that are asked for
    put("residual/0", 20, 0);
    put("residual/0", 60, 0);
    order.streams = {"stage/0", "stage/1", "stage/2"};
    order.beside = "residual/0";
    order.line.number = 1;
    order.line.shared = {{Step(20), routing::History(1)}, {Step(40), routing::History(2)}};
  }
  void put(const std::string& stream, uint64_t step, uint64_t history) {
    proto::StageState head;
    head.set_step(step);
    head.set_history(history);
    BOOST_REQUIRE(store().put({stream, step}, tensor::serialize_state(head, {}), 9).ok());
  }
  /// Of a process that has just begun.
  sim::DiskStore& store() {
    store_ = std::make_unique<sim::DiskStore>(disk, /*sync_at_once=*/true);
    return *store_;
  }
  std::vector<uint64_t> steps(const std::string& stream) { return store().steps(stream).value(); }

  std::shared_ptr<sim::Disk> disk = std::make_shared<sim::Disk>();
  LeaveLine order;

 private:
  std::unique_ptr<sim::DiskStore> store_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(AsideTest, Left)

BOOST_AUTO_TEST_CASE(what_is_not_shared_goes_aside_with_what_belongs_to_it) {
  const auto lines = leave_line(store(), order);
  BOOST_REQUIRE(lines.ok());
  BOOST_TEST(*lines == (Lines{"aside/1/stage/0 60", "aside/1/stage/1 40"}), tt::per_element());
  BOOST_TEST(steps("stage/0") == (std::vector<uint64_t>{40, 20}), tt::per_element());
  BOOST_TEST(steps("stage/1").empty());
  BOOST_TEST(steps("stage/2") == std::vector<uint64_t>{40}, tt::per_element());
  BOOST_TEST(steps("stage/3") == std::vector<uint64_t>{40}, tt::per_element());
  BOOST_TEST(steps("residual/0") == std::vector<uint64_t>{20}, tt::per_element());
  BOOST_TEST(tensor::history_of(*store().get({"aside/1/stage/0", 60})) == 33u);
  BOOST_TEST(*list_aside(store()) == *lines, tt::per_element());
}

BOOST_AUTO_TEST_CASE(done_again_after_a_crash_it_adds_what_came_since) {
  BOOST_REQUIRE(leave_line(store(), order).ok());
  put("stage/0", 80, 44);
  const auto lines = leave_line(store(), order);
  BOOST_REQUIRE(lines.ok());
  BOOST_TEST(lines->front() == "aside/1/stage/0 80 60");
  order.line.number = 2;
  BOOST_REQUIRE(leave_line(store(), order).ok());  // nothing more: the last line stays
  BOOST_TEST(list_aside(store())->front() == "aside/1/stage/0 80 60");
}

BOOST_AUTO_TEST_CASE(one_that_cannot_be_read_or_says_no_history_goes_aside_too) {
  put("stage/0", 90, 0);
  disk->spoil_newest();  // of each stream
  order.line.shared.emplace(Step(90), routing::History(9));
  BOOST_REQUIRE(leave_line(store(), order).ok());
  BOOST_TEST(steps("stage/0") == (std::vector<uint64_t>{40, 20}), tt::per_element());
  BOOST_TEST(steps("stage/2").empty());
}

BOOST_AUTO_TEST_CASE(a_disk_that_fails_leaves_all_as_it_was) {
  disk->set_trouble({/*fails=*/true});
  BOOST_TEST((leave_line(store(), order).code() == ErrorCode::kIo));
  disk->set_trouble({});
  BOOST_TEST(steps("stage/0").size() == 3u);
  BOOST_TEST(list_aside(store())->empty());
}

// One sector that could not be read kept a peer out of its part for good.
BOOST_AUTO_TEST_CASE(what_was_before_a_fork_is_kept_aside_though_some_of_it_cannot_be_read) {
  const auto made_in = [](uint64_t configuration) { return (configuration << 48) + 7; };
  put("stage/0", 100, made_in(3));
  put("stage/0", 120, made_in(5));
  KeepBefore keeps{{"stage/0"}, "residual/0", /*configuration=*/5};
  disk->set_trouble({false, false, {}, /*unreadable=*/true});
  BOOST_TEST((keep_before(store(), keeps).code() == ErrorCode::kIo));
  keeps.patient = false;
  BOOST_TEST(keep_before(store(), keeps).ok());
  BOOST_TEST(steps("aside/before/stage/0").empty());
  disk->set_trouble({});
  BOOST_TEST(keep_before(store(), keeps).ok());
  const auto kept = steps("aside/before/stage/0");
  BOOST_TEST(std::count(kept.begin(), kept.end(), 100u) == 1);
  BOOST_TEST(std::count(kept.begin(), kept.end(), 120u) == 0);
}

// The mirror took it for one that was given up, and withdrew the file.
BOOST_AUTO_TEST_CASE(what_comes_back_from_before_does_not_lie_with_what_was_given_up_too) {
  BOOST_REQUIRE(store().keep_aside({{"stage/0", 60}}).ok());
  put("stage/0", 80, 34);
  order.line.to_first = true;
  const auto lines = leave_line(store(), order);
  BOOST_REQUIRE(lines.ok());
  BOOST_TEST(lines->front() == "aside/1/stage/0 80");
  BOOST_TEST(steps("stage/0") == (std::vector<uint64_t>{60, 40, 20}), tt::per_element());
  BOOST_TEST(tensor::history_of(*store().get({"stage/0", 60})) == 33u);
}

// It was trained since what lies aside was made, in the line that goes on.
BOOST_AUTO_TEST_CASE(what_stays_is_not_overwritten_by_what_comes_back_from_before) {
  BOOST_REQUIRE(store().keep_aside({{"stage/0", 60}}).ok());
  BOOST_REQUIRE(store().drop_newer("stage/0", 40).ok());
  put("stage/0", 60, 35);
  order.line.shared.emplace(Step(60), routing::History(35));
  order.line.to_first = true;
  BOOST_REQUIRE(leave_line(store(), order).ok());
  BOOST_TEST(tensor::history_of(*store().get({"stage/0", 60})) == 35u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors
