#include "apps/sim/serial_link.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

using namespace swarm::sim;
using std::chrono::milliseconds;
using swarm::actors::TrafficClass;

namespace {

const SerialLink::TimePoint kStart{std::chrono::seconds(1'000)};

SerialLink::Piece piece(uint64_t mail, uint64_t bytes, TrafficClass traffic, uint64_t flow = 1) {
  return {{flow, traffic}, mail, bytes, true, -1};
}

struct Through {
  uint64_t mail;
  double at_ms;
  uint64_t bytes;
};

/// Runs the link dry from `now` on.
std::vector<Through> drain(SerialLink& link, SerialLink::TimePoint now = kStart) {
  std::vector<Through> through;
  while (link.under_way() != nullptr || link.begin(now)) {
    now = *link.through_at();
    const auto chunk = link.finish();
    through.push_back(
        {chunk.mail, std::chrono::duration<double, std::milli>(now - kStart).count(), chunk.bytes});
  }
  return through;
}

std::vector<uint64_t> mails(const std::vector<Through>& through) {
  std::vector<uint64_t> order;
  for (const auto& chunk : through) order.push_back(chunk.mail);
  return order;
}

/// 100 kB/s: chunks of 5 kB, 50 ms each.
SerialLink slow_link() {
  SerialLink link;
  link.set_rate(kStart, 1e5);
  return link;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SerialLinkQueue)

BOOST_AUTO_TEST_CASE(mail_takes_its_bytes_divided_by_the_rate_one_after_the_other) {
  auto link = slow_link();
  link.push(piece(1, 1'000, TrafficClass::kActivations));
  link.push(piece(2, 3'000, TrafficClass::kActivations));
  const auto through = drain(link);
  BOOST_REQUIRE(through.size() == 2u);
  BOOST_TEST(through[0].at_ms == 10.0);
  BOOST_TEST(through[1].at_ms == 40.0);
  BOOST_TEST(link.empty());
}

BOOST_AUTO_TEST_CASE(a_large_mail_holds_up_an_urgent_one_for_no_longer_than_a_chunk) {
  auto link = slow_link();
  link.push(piece(1, 100'000, TrafficClass::kState));
  BOOST_REQUIRE(link.begin(kStart));
  link.push(piece(2, 100, TrafficClass::kControl));
  const auto through = drain(link);
  BOOST_REQUIRE(through.size() == 21u);
  BOOST_TEST(through[0].mail == 1u);
  BOOST_TEST(through[0].at_ms == 50.0);
  BOOST_TEST(through[1].mail == 2u);
  BOOST_TEST(through[1].at_ms == 51.0);
  BOOST_TEST(through.back().at_ms == 1'001.0);
}

BOOST_AUTO_TEST_CASE(the_more_urgent_class_goes_first) {
  auto link = slow_link();
  link.push(piece(4, 100, TrafficClass::kState));
  link.push(piece(3, 100, TrafficClass::kActivations));
  link.push(piece(2, 100, TrafficClass::kGradients));
  link.push(piece(1, 100, TrafficClass::kControl));
  BOOST_TEST(mails(drain(link)) == (std::vector<uint64_t>{1, 2, /*its share*/ 4, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_state_gets_half_of_what_it_shares_with_activations) {
  auto link = slow_link();
  link.push(piece(1, 100'000, TrafficClass::kActivations));
  link.push(piece(2, 50'000, TrafficClass::kState));
  const auto order = mails(drain(link));
  BOOST_REQUIRE(order.size() == 30u);
  BOOST_TEST(std::count(order.begin(), order.begin() + 20, 2u) == 10);
}

BOOST_AUTO_TEST_CASE(flows_of_one_class_take_turns_chunk_by_chunk) {
  auto link = slow_link();
  link.push(piece(1, 15'000, TrafficClass::kActivations, /*flow=*/1));
  link.push(piece(2, 10'000, TrafficClass::kActivations, /*flow=*/2));
  BOOST_TEST(mails(drain(link)) == (std::vector<uint64_t>{1, 2, 1, 2, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(mail_of_one_flow_and_class_keeps_its_order) {
  auto link = slow_link();
  link.push(piece(1, 12'000, TrafficClass::kActivations));
  link.push(piece(2, 100, TrafficClass::kActivations));
  BOOST_TEST(mails(drain(link)) == (std::vector<uint64_t>{1, 1, 1, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_rest_of_a_chunk_goes_at_the_new_rate) {
  auto link = slow_link();
  link.push(piece(1, 4'000, TrafficClass::kControl));
  BOOST_REQUIRE(link.begin(kStart));
  link.set_rate(kStart + milliseconds(20), 1e6);  // 2 kB are left
  BOOST_TEST((*link.through_at() - kStart == milliseconds(22)));
  link.set_rate(kStart + milliseconds(21), 0);
  BOOST_TEST((*link.through_at() - kStart == milliseconds(21)));
}

BOOST_AUTO_TEST_CASE(a_held_line_keeps_what_waits_and_the_others_go_on) {
  auto link = slow_link();
  link.push(piece(1, 100, TrafficClass::kActivations, /*flow=*/1));
  link.push(piece(2, 100, TrafficClass::kActivations, /*flow=*/2));
  link.hold({1, TrafficClass::kActivations}, true);
  BOOST_TEST(mails(drain(link)) == (std::vector<uint64_t>{2}), boost::test_tools::per_element());
  BOOST_TEST(!link.empty());
  link.hold({1, TrafficClass::kActivations}, false);
  BOOST_TEST(mails(drain(link)) == (std::vector<uint64_t>{1}), boost::test_tools::per_element());
  BOOST_TEST(link.empty());
}

BOOST_AUTO_TEST_CASE(what_was_forgotten_takes_no_turn) {
  auto link = slow_link();
  const SerialLink::Line line{1, TrafficClass::kActivations};
  link.push(piece(1, 100, TrafficClass::kActivations, /*flow=*/1));
  link.push(piece(2, 20'000, TrafficClass::kActivations, /*flow=*/2));
  link.forget(line, 1);
  link.push(piece(3, 20'000, TrafficClass::kActivations, /*flow=*/1));
  BOOST_TEST(mails(drain(link)) == (std::vector<uint64_t>{2, 3, 2, 3, 2, 3, 2, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
