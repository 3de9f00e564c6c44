#include "actors/net/state_share.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "actors/net/links/send_queue.h"
#include "actors/net/links/send_turns.h"
#include "actors/net/mail_kinds.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

OutFrame frame_of(proto::MessageKind kind, size_t body) {
  return make_frame(kind, kReply, 1, 0ms, {}, proto::Ack(),
                    Buffer::from_string(std::string(body, 'x')));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StateShares)

BOOST_AUTO_TEST_CASE(states_get_their_share_while_both_wait) {
  for (const double share : {0.0, 0.25, 0.5, 0.8}) {
    StateShare rule(share);
    double state = 0;
    for (int i = 0; i < 10'000; ++i) {
      const auto next = rule.state_is_next() ? TrafficClass::kState : TrafficClass::kActivations;
      state += next == TrafficClass::kState;
      rule.sent(next, 1'000, /*both=*/true);
    }
    BOOST_TEST(state / 10'000 == share, boost::test_tools::tolerance(0.01));
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_saved_up_while_one_of_them_does_not_wait) {
  StateShare rule(0.5);
  for (int i = 0; i < 100; ++i) rule.sent(TrafficClass::kActivations, 1 << 20, false);
  BOOST_TEST(!rule.state_is_next());
  for (int i = 0; i < 100; ++i) rule.sent(TrafficClass::kState, 1 << 20, false);
  rule.sent(TrafficClass::kActivations, 1, true);
  BOOST_TEST(rule.state_is_next());
}

BOOST_AUTO_TEST_CASE(control_goes_before_both) {
  StateShare rule(0.5);
  rule.sent(TrafficClass::kGradients, 1'000, true);
  BOOST_REQUIRE(rule.state_is_next());
  BOOST_TEST(rule.rank(TrafficClass::kControl) < rule.rank(TrafficClass::kState));
  BOOST_TEST(rule.rank(TrafficClass::kState) < rule.rank(TrafficClass::kGradients));
  rule.sent(TrafficClass::kState, 3'000, true);
  BOOST_TEST(rule.rank(TrafficClass::kActivations) < rule.rank(TrafficClass::kState));
}

// Behind activations that never ceased a state waited for ever.
BOOST_AUTO_TEST_CASE(a_link_that_is_full_of_activations_carries_a_state_too) {
  SendQueue queue(0.5);
  uint64_t sent = 0;
  for (int i = 0; i < 400; ++i) {
    queue.push(frame_of(proto::KIND_FORWARD, 10'000));
    if (i % 4 == 0) queue.push(frame_of(proto::KIND_STATE_RANGE_REPLY, 50'000));
    std::vector<char> out;
    BOOST_REQUIRE(queue.next_chunk(out, 10'000));
    sent += out.size();
  }
  const double state = static_cast<double>(queue.sent()[static_cast<size_t>(TrafficClass::kState)]);
  BOOST_TEST(state / static_cast<double>(sent) == 0.5, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(of_many_links_the_one_with_a_state_gets_its_share_of_the_nodes_rate) {
  SendTurns turns(1e6, 0.5);
  std::map<ConnId, TrafficClass> links = {
      {1, TrafficClass::kActivations}, {2, TrafficClass::kGradients}, {3, TrafficClass::kState}};
  std::map<ConnId, double> sent;
  SendTurns::TimePoint now{1'000s};
  BOOST_REQUIRE(turns.may_send(1, now));
  turns.sent(1, 1'000'000);  // a second's worth: from now on all have to wait
  for (const auto& [conn, traffic] : links) BOOST_REQUIRE(!turns.may_send(conn, now));
  for (int i = 0; i < 4'000; ++i) {
    now += 10ms;
    turns.serve(
        now, [&](ConnId conn) { return links.at(conn); },
        [&](ConnId conn) {
          if (!turns.may_send(conn, now)) return;
          sent[conn] += 10'000;
          turns.sent(conn, 10'000);
          turns.may_send(conn, now);  // it has more
        });
  }
  BOOST_TEST(sent[3] / (sent[1] + sent[2] + sent[3]) == 0.5, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_SUITE_END()
