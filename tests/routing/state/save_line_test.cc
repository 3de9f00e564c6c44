#include "routing/state/save_line.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

/// Copies are counted: as many are in memory as there are owners.
using Copy = std::shared_ptr<uint64_t>;

struct World {
  SaveLine<Copy> line;
  std::optional<Copy> on_its_way;  ///< To the disk.
  std::vector<std::weak_ptr<uint64_t>> made;
  std::vector<uint64_t> durable, answered;
  std::vector<ErrorCode> failed;

  SaveLine<Copy>::Done done(uint64_t step) {
    return [this, step](const Status& status) {
      if (status)
        answered.push_back(step);
      else
        failed.push_back(status.code());
    };
  }
  /// The copy is made at once.
  void save(uint64_t step, bool changes = false) {
    take(line.ask(Step(step), changes, done(step)), step);
  }
  void take(SaveLine<Copy>::Todo todo, uint64_t step) {
    if (todo.write) on_its_way = std::move(todo.write);
    if (!todo.freeze) return;
    auto copy = std::make_shared<uint64_t>(step);
    made.push_back(copy);
    take(line.frozen(Step(step), Copy(std::move(copy))), step);
  }
  void disk_is_done(const Status& status = {}) {
    const Copy written = *std::exchange(on_its_way, std::nullopt);
    if (status) durable.push_back(*written);
    take(line.written(status), 0);
  }
  size_t copies() const {
    return static_cast<size_t>(
        std::count_if(made.begin(), made.end(), [](const auto& one) { return !one.expired(); }));
  }
};

using Numbers = std::vector<uint64_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(LineOfSnapshots)

// Each had a copy of the whole state in memory until its turn came.
BOOST_AUTO_TEST_CASE(however_many_are_asked_for_one_is_written_and_the_newest_waits) {
  World world;
  for (uint64_t step = 1; step <= 100; ++step) {
    world.save(step);
    BOOST_TEST(world.copies() <= 2u);
  }
  world.disk_is_done();
  BOOST_TEST((world.answered == Numbers{1}));
  world.disk_is_done();
  BOOST_TEST((world.durable == Numbers{1, 100}));
  BOOST_TEST(world.answered.size() == 100u);
  BOOST_TEST(!world.on_its_way.has_value());
  BOOST_TEST(world.copies() == 0u);
}

BOOST_AUTO_TEST_CASE(who_asks_for_the_same_step_again_waits_for_the_same_copy) {
  World world;
  for (int i = 0; i < 5; ++i) world.save(7);
  BOOST_TEST(world.made.size() == 1u);
  world.disk_is_done();
  BOOST_TEST((world.answered == Numbers{7, 7, 7, 7, 7}));
  world.save(7);  // it may have been pruned since
  BOOST_TEST(world.made.size() == 2u);
}

BOOST_AUTO_TEST_CASE(where_states_of_a_step_differ_the_last_one_asked_for_is_written) {
  World world;
  for (int i = 0; i < 3; ++i) world.save(7, /*changes=*/true);
  BOOST_TEST(world.made.size() == 3u);
  BOOST_TEST(world.copies() == 2u);
  world.disk_is_done();
  world.disk_is_done();
  BOOST_TEST((world.answered == Numbers{7, 7, 7}));
}

BOOST_AUTO_TEST_CASE(who_asks_while_a_copy_is_made_gets_one_made_after) {
  World world;
  BOOST_TEST(world.line.ask(Step(1), true, world.done(1)).freeze);
  BOOST_TEST(!world.line.ask(Step(2), true, world.done(2)).freeze);
  const auto todo = world.line.frozen(Step(1), std::make_shared<uint64_t>(1));
  BOOST_TEST(todo.freeze);
  BOOST_REQUIRE(todo.write.has_value());
  BOOST_TEST(!world.line.frozen(Step(2), std::make_shared<uint64_t>(2)).write.has_value());
  BOOST_TEST(**world.line.written({}).write == 2u);
  world.line.written({});
  BOOST_TEST((world.answered == Numbers{1, 2}));
}

BOOST_AUTO_TEST_CASE(errors_reach_who_asked_and_the_next_has_its_turn) {
  World world;
  BOOST_TEST(world.line.ask(Step(1), false, world.done(1)).freeze);
  world.line.frozen(Step(), Error{ErrorCode::kNotReady, "being replaced"});
  BOOST_TEST((world.failed == std::vector{ErrorCode::kNotReady}));
  world.save(2);
  world.save(3);
  world.line.give_up({ErrorCode::kPeerTimeout, "slow"});
  BOOST_TEST(world.failed.back() == ErrorCode::kPeerTimeout);
  BOOST_TEST(**world.on_its_way == 2u);  // the disk is not free before
  world.disk_is_done(Error{ErrorCode::kIo, "full"});
  BOOST_TEST(world.failed.size() == 2u);  // who gave up is not told twice
  world.disk_is_done();
  BOOST_TEST((world.durable == Numbers{3}));
}

// It came to the disk after those of its history had been dropped there.
BOOST_AUTO_TEST_CASE(what_waits_of_a_history_that_was_given_up_is_not_written) {
  World world;
  world.save(4);
  world.save(6);
  world.line.forget_newer(Step(6));
  BOOST_TEST(world.failed.empty());
  world.line.forget_newer(Step(5));
  BOOST_TEST((world.failed == std::vector{ErrorCode::kNotReady}));
  world.disk_is_done();
  BOOST_TEST(!world.on_its_way.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
