#include "routing/steps/lease_desk.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;
using namespace std::chrono_literals;

namespace {

ActorId trainer(uint8_t n) {
  NodeId id;
  id.bytes[15] = n;
  return {id, "trainer"};
}

/// Leases slots 0, 1, ... until there are no more.
struct Slots {
  uint32_t left = 0;
  uint32_t next = 0;
  LeaseDesk::Source source() {
    return [this](const ActorId&, uint32_t most) {
      Leases leases{Step(3), {}};
      for (; left > 0 && leases.slots.size() < most; --left)
        leases.slots.push_back({SlotLease{Slot(next++), Attempt(1), 1, false}, {}});
      return leases;
    };
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(DeskForLeases)

BOOST_AUTO_TEST_CASE(a_lease_of_no_slots_is_refused_and_keeps_nobody_waiting) {
  LeaseDesk desk;
  BOOST_TEST((desk.wait(1, trainer(1), 0, 1s).code() == ErrorCode::kInvalidArgument));
  BOOST_REQUIRE(desk.wait(2, trainer(2), 1, 1s).ok());
  Slots slots{1};
  const auto served = desk.serve(slots.source());
  BOOST_REQUIRE(served.size() == 1u);
  BOOST_TEST(served[0].ticket == 2u);
}

BOOST_AUTO_TEST_CASE(who_came_first_is_served_first) {
  LeaseDesk desk;
  for (uint8_t n : {1, 2, 3}) BOOST_REQUIRE(desk.wait(n, trainer(n), 2, 1s).ok());
  Slots slots{3};
  const auto served = desk.serve(slots.source());
  BOOST_REQUIRE(served.size() == 2u);
  BOOST_TEST(served[0].leases.slots.size() == 2u);
  BOOST_TEST(served[1].ticket == 2u);
  BOOST_TEST(served[1].leases.slots.size() == 1u);
  BOOST_TEST(served[1].leases.step == Step(3));
  BOOST_TEST(desk.waiting() == 1u);
}

BOOST_AUTO_TEST_CASE(one_lease_has_so_many_slots_at_most) {
  LeaseDesk desk;
  BOOST_REQUIRE(desk.wait(1, trainer(1), 1'000'000, 1s).ok());
  Slots slots{1'000};
  BOOST_TEST(desk.serve(slots.source())[0].leases.slots.size() == LeaseDesk::kMostSlots);
}

BOOST_AUTO_TEST_CASE(who_has_waited_long_enough_is_told_so_and_everybody_at_the_end) {
  LeaseDesk desk;
  BOOST_REQUIRE(desk.wait(1, trainer(1), 1, 1s).ok());
  BOOST_REQUIRE(desk.wait(2, trainer(2), 1, 2s).ok());
  BOOST_TEST((desk.expire(1s, false) == std::vector<LeaseDesk::Ticket>{1}));
  BOOST_TEST((desk.expire(1s, true) == std::vector<LeaseDesk::Ticket>{2}));
  BOOST_TEST(desk.waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_node_has_asked_for_can_be_withdrawn) {
  LeaseDesk desk;
  for (uint8_t n : {1, 2}) BOOST_REQUIRE(desk.wait(n, trainer(n), 1, 1s).ok());
  BOOST_TEST((desk.withdraw(trainer(1).node) == std::vector<LeaseDesk::Ticket>{1}));
  BOOST_TEST((desk.clear() == std::vector<LeaseDesk::Ticket>{2}));
}

BOOST_AUTO_TEST_SUITE_END()
