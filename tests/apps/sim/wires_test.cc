#include "apps/sim/wires.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::sim;
using actors::TrafficClass;
using std::chrono::seconds;

namespace {

const Wires::TimePoint kStart{seconds(1'000)};

/// When each mail arrives [s], until nothing moves any more.
std::map<uint64_t, double> arrivals(Wires& wires) {
  std::map<uint64_t, double> at_s;
  while (const auto next = wires.next())
    for (const uint64_t mail : wires.arrived(*next))
      at_s[mail] = std::chrono::duration<double>(*next - kStart).count();
  return at_s;
}

struct Network {
  NodeId a = testing::node(1), b = testing::node(2), c = testing::node(3);
  Wires wires;
};

constexpr auto kActivations = TrafficClass::kActivations;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(SerialWires, Network)

BOOST_AUTO_TEST_CASE(without_rates_nothing_is_held_up) {
  BOOST_TEST(!wires.send(kStart, {a, b, kActivations, 1'000'000}, 1));
  BOOST_TEST(!wires.next().has_value());
  BOOST_TEST(!wires.limited());
}

BOOST_AUTO_TEST_CASE(three_equal_links_take_as_long_as_one) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.set_pair(kStart, a, b, 1e6);
  wires.set_node(kStart, b, {0, 1e6});
  BOOST_TEST(wires.send(kStart, {a, b, kActivations, 2'000'000}, 1));
  BOOST_TEST(wires.bytes(a, b) == 2'000'000u);
  BOOST_TEST(arrivals(wires).at(1) == 2.0, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(wires.bytes(a, b) == 0u);
}

BOOST_AUTO_TEST_CASE(the_slowest_link_decides) {
  wires.set_node(kStart, a, {4e6, 0});
  wires.set_pair(kStart, a, b, 1e6);
  wires.set_node(kStart, b, {0, 2e6});
  wires.send(kStart, {a, b, kActivations, 3'000'000}, 1);
  BOOST_TEST(arrivals(wires).at(1) == 3.0, boost::test_tools::tolerance(0.03));
}

BOOST_AUTO_TEST_CASE(each_direction_has_a_rate_of_its_own) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 1);
  BOOST_TEST(!wires.send(kStart, {b, a, kActivations, 1'000'000}, 2));
  BOOST_TEST(arrivals(wires).size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_uplink_is_shared_by_all_that_leaves_the_node) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 1);
  wires.send(kStart, {a, c, kActivations, 1'000'000}, 2);
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.at(1) == 1.9, boost::test_tools::tolerance(0.01));  // it began first
  BOOST_TEST(at_s.at(2) == 2.0, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(a_downlink_is_shared_by_all_senders) {
  wires.set_node(kStart, c, {0, 1e6});
  wires.send(kStart, {a, c, kActivations, 1'000'000}, 1);
  wires.send(kStart, {b, c, kActivations, 500'000}, 2);
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.at(1) == 1.5, boost::test_tools::tolerance(0.01));
  BOOST_TEST(at_s.at(2) == 1.0, boost::test_tools::tolerance(0.06));
}

BOOST_AUTO_TEST_CASE(slow_senders_together_fill_a_fast_downlink) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.set_node(kStart, b, {1e6, 0});
  wires.set_node(kStart, c, {0, 2e6});
  wires.send(kStart, {a, c, kActivations, 1'000'000}, 1);
  wires.send(kStart, {b, c, kActivations, 1'000'000}, 2);
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.at(1) < 1.05);
  BOOST_TEST(at_s.at(2) < 1.05);
}

BOOST_AUTO_TEST_CASE(a_slow_receiver_leaves_the_uplink_to_the_others) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.set_node(kStart, b, {0, 1e4});
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 1);
  wires.send(kStart, {a, c, kActivations, 1'000'000}, 2);
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.at(2) < 1.2);
  BOOST_TEST(at_s.at(1) == 100.0, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(control_overtakes_a_large_mail_on_every_link) {
  wires.set_node(kStart, a, {1e5, 0});
  wires.set_pair(kStart, a, b, 1e5);
  wires.set_node(kStart, b, {0, 1e5});
  wires.send(kStart, {a, b, TrafficClass::kState, 10'000'000}, 1);
  auto there = wires.arrived(kStart + seconds(10));
  BOOST_TEST(there.empty());
  wires.send(kStart + seconds(10), {a, b, TrafficClass::kControl, 100}, 2);
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.at(2) < 10.16);  // a chunk of 50 ms on each of the three
  BOOST_TEST(at_s.at(1) == 100.0, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(rates_may_change_and_end_under_way) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.send(kStart, {a, b, kActivations, 2'000'000}, 1);
  wires.arrived(kStart + seconds(1));
  wires.set_node(kStart + seconds(1), a, {0.5e6, 0});
  wires.arrived(kStart + seconds(2));
  wires.set_node(kStart + seconds(2), a, {});
  BOOST_TEST(arrivals(wires).at(1) == 2.0, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(!wires.limited());
}

BOOST_AUTO_TEST_CASE(mail_that_has_not_left_is_taken_back_and_takes_no_time) {
  wires.set_node(kStart, a, {1e6, 0});
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 1);
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 2);
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 3);
  BOOST_TEST(!wires.take_back(1));  // under way
  BOOST_TEST(wires.take_back(2));
  BOOST_TEST(!wires.take_back(2));
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.count(2) == 0u);
  BOOST_TEST(at_s.at(3) == 2.0, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(mail_of_a_lost_connection_takes_no_time_and_the_next_connection_is_free) {
  wires.set_node(kStart, a, {1e6, 1e6});
  wires.set_node(kStart, b, {0, 1e5});
  for (uint64_t mail = 1; mail <= 5; ++mail)
    wires.send(kStart, {a, b, kActivations, 1'000'000}, mail);
  wires.arrived(kStart + seconds(1));
  BOOST_TEST(wires.lose(a, b).size() == 5u);
  BOOST_TEST(wires.bytes(a, b) == 0u);
  wires.send(kStart + seconds(1), {a, b, kActivations, 100'000}, 6);
  const auto at_s = arrivals(wires);
  BOOST_TEST(at_s.size() == 1u);
  BOOST_TEST(at_s.at(6) == 2.0, boost::test_tools::tolerance(0.06));
}

BOOST_AUTO_TEST_CASE(a_forgotten_machine_leaves_nothing_behind) {
  wires.set_node(kStart, a, {1e6, 1e6});
  wires.set_pair(kStart, a, b, 1e6);
  wires.send(kStart, {a, b, kActivations, 1'000'000}, 1);
  wires.lose(a, b);
  wires.forget(a);
  BOOST_TEST(!wires.limited());
  BOOST_TEST(!wires.next().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
