/// The small parts of a link and of the Links actor, each alone.
#include <boost/test/unit_test.hpp>

#include "actors/net/links/dial_pauses.h"
#include "actors/net/links/look_ups.h"
#include "actors/net/links/pulse.h"
#include "actors/net/links/request_table.h"
#include "actors/net/links/send_queue.h"
#include "actors/net/links/send_turns.h"
#include "actors/net/links/waiting_mail.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

using TimePoint = std::chrono::steady_clock::time_point;
const TimePoint kStart = TimePoint{} + 1h;

Mail echo_mail(size_t body = 0) {
  return make_mail(proto::Echo(), Buffer::from_string(std::string(body, 'b')));
}

OutFrame frame(proto::MessageKind kind, uint64_t request_id = 0) {
  return make_frame(kind, request_id == 0 ? kOneWay : kRequest, request_id, 0ms, {},
                    *new_head(kind), {});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RequestTables)

BOOST_AUTO_TEST_CASE(an_answered_request_leaves_no_deadline_behind) {
  RequestTable table;
  for (int i = 0; i < 1'000; ++i) {
    const uint64_t id = table.next_id();
    table.add({id, proto::KIND_ECHO, TrafficClass::kControl, kStart + 120s});
    BOOST_REQUIRE(table.take(id));
  }
  BOOST_TEST(table.size() == 0u);
  BOOST_TEST(table.deadlines() == 0u);
  BOOST_TEST(!table.expired(kStart + 24h));
}

BOOST_AUTO_TEST_CASE(requests_expire_by_deadline_and_are_answered_once) {
  RequestTable table;
  for (const auto budget : {3s, 1s, 2s})
    table.add({table.next_id(), proto::KIND_ECHO, TrafficClass::kControl, kStart + budget});
  BOOST_TEST(table.take_expired(kStart + 999ms).empty());
  const auto expired = table.take_expired(kStart + 2s);
  BOOST_REQUIRE_EQUAL(expired.size(), 2u);
  BOOST_TEST(expired[0].id == 2u);
  BOOST_TEST(expired[1].id == 3u);
  BOOST_TEST(!table.take(2));  // too late
  BOOST_TEST(table.take(1).has_value());
  BOOST_TEST(!table.take(1));
}

BOOST_AUTO_TEST_CASE(all_that_waits_can_be_given_up_by_id) {
  RequestTable table;
  for (const auto budget : {3s, 1s})
    table.add({table.next_id(), proto::KIND_ECHO, TrafficClass::kControl, kStart + budget});
  const auto all = table.take_all();
  BOOST_REQUIRE_EQUAL(all.size(), 2u);
  BOOST_TEST(all[0].id == 1u);
  BOOST_TEST(table.size() + table.deadlines() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SendQueues)

BOOST_AUTO_TEST_CASE(the_most_urgent_class_goes_first_and_each_in_order) {
  SendQueue queue;
  queue.push(frame(proto::KIND_FORWARD, 1));
  queue.push(frame(proto::KIND_AVERAGE_PART, 2));
  queue.push(frame(proto::KIND_ECHO, 3));
  BOOST_TEST(queue.frames() == 3u);
  std::vector<char> out;
  for (const auto traffic :
       {TrafficClass::kControl, TrafficClass::kGradients, TrafficClass::kActivations}) {
    BOOST_TEST((queue.next_traffic() == traffic));
    BOOST_TEST(queue.next_chunk(out, 1 << 20));
  }
  BOOST_TEST(queue.empty());
  BOOST_TEST(queue.bytes() == 0u);
  BOOST_TEST(!queue.next_chunk(out, 1 << 20));
  BOOST_TEST(queue.sent()[0] + queue.sent()[1] + queue.sent()[2] == out.size());
  BOOST_TEST(queue.pushed() == 3u);
}

BOOST_AUTO_TEST_CASE(of_a_request_that_is_forgotten_half_way_only_its_end_is_sent) {
  SendQueue queue;
  queue.push(frame(proto::KIND_ECHO, 1));
  queue.push(frame(proto::KIND_ECHO, 2));
  std::vector<char> out;
  queue.next_chunk(out, 4);
  BOOST_TEST(queue.forget_request(TrafficClass::kControl, 1));
  BOOST_TEST(queue.forget_request(TrafficClass::kControl, 1));  // again: no more to drop
  BOOST_TEST(queue.forget_request(TrafficClass::kControl, 2));
  BOOST_TEST(!queue.forget_request(TrafficClass::kControl, 2));
  BOOST_TEST(queue.frames() == 1u);
  BOOST_TEST(queue.bytes() == 0u);
  out.clear();
  BOOST_TEST(queue.next_chunk(out, 1000));
  BOOST_TEST(out.size() == kChunkHeaderBytes);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_request_that_has_left_is_not_forgotten) {
  SendQueue queue;
  queue.push(frame(proto::KIND_ECHO, 1));
  std::vector<char> out;
  queue.next_chunk(out, 1000);
  BOOST_TEST(!queue.forget_request(TrafficClass::kControl, 1));
}

BOOST_AUTO_TEST_CASE(clearing_tells_whether_half_a_control_frame_has_left) {
  SendQueue queue;
  std::vector<char> out;
  queue.push(frame(proto::KIND_ECHO, 1));
  queue.next_chunk(out, 4);
  BOOST_TEST(queue.clear());
  BOOST_TEST(queue.empty());
  queue.push(frame(proto::KIND_FORWARD, 2));
  queue.next_chunk(out, 4);
  BOOST_TEST(!queue.clear());  // another class does not stand in the way
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(Pulses)

BOOST_AUTO_TEST_CASE(a_heartbeat_goes_only_where_nothing_else_went) {
  Pulse pulse(1s, 5s, kStart);
  const auto probe = pulse.beat(kStart, 7);
  BOOST_REQUIRE(probe);
  BOOST_TEST(probe->sent_us() != 0u);
  BOOST_TEST(!pulse.due(kStart + 999ms));
  BOOST_TEST(pulse.due(kStart + 1s));
  const auto quiet = pulse.beat(kStart + 1s, 8);  // the probe was all that was sent
  BOOST_REQUIRE(quiet);
  BOOST_TEST(quiet->sent_us() == 0u);
  BOOST_TEST(!pulse.beat(kStart + 2s, 12));  // mail was sent
  BOOST_TEST(pulse.beat(kStart + 3s, 12).has_value());
}

BOOST_AUTO_TEST_CASE(a_busy_link_still_measures_its_round_trip_every_ten_seconds) {
  Pulse pulse(1s, 5s, kStart);
  uint64_t sent = 0;
  int probes = 0;
  for (int second = 0; second <= 30; ++second) {
    const auto beat = pulse.beat(kStart + std::chrono::seconds(second), sent += 100);
    if (!beat) continue;
    ++probes;
    BOOST_TEST(beat->sent_us() != 0u);
    pulse.echoed(beat->sent_us(), kStart + std::chrono::seconds(second) + 20ms);
  }
  BOOST_TEST(probes == 4);
  BOOST_TEST(pulse.round_trip_s() == 0.02, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(an_echo_of_the_future_is_no_measurement) {
  Pulse pulse(1s, 5s, kStart);
  pulse.echoed(UINT64_MAX, kStart);
  pulse.echoed(0, kStart);
  BOOST_TEST(pulse.round_trip_s() == 0);
}

BOOST_AUTO_TEST_CASE(who_is_not_heard_for_the_limit_is_silent) {
  Pulse pulse(1s, 5s, kStart);
  BOOST_TEST(!pulse.silent(kStart + 5s));
  BOOST_TEST(pulse.silent(kStart + 5'001ms));
  pulse.heard(kStart + 5s);
  BOOST_TEST(!pulse.silent(kStart + 10s));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(DialPause)

BOOST_AUTO_TEST_CASE(
    an_address_is_left_alone_for_longer_with_each_failure_and_forgiven_by_success) {
  DialPauses pauses(100ms, 5s);
  const Endpoint at{"host", 1};
  const Error why{ErrorCode::kLinkLost, "refused"};
  BOOST_TEST(!pauses.refusal(at, kStart));
  pauses.failed(at, why, 1.0, kStart);
  BOOST_REQUIRE(pauses.refusal(at, kStart + 40ms));
  BOOST_TEST(pauses.refusal(at, kStart + 40ms)->retry_after_ms == 60u);
  BOOST_TEST(!pauses.refusal(at, kStart + 100ms));
  BOOST_TEST(!pauses.refusal({"host", 2}, kStart));
  pauses.failed(at, why, 1.0, kStart);
  BOOST_TEST(pauses.refusal(at, kStart + 199ms).has_value());
  pauses.succeeded(at);
  BOOST_TEST(!pauses.refusal(at, kStart));
  pauses.failed(at, why, 1.0, kStart);
  BOOST_TEST(!pauses.refusal(at, kStart + 100ms));
}

BOOST_AUTO_TEST_CASE(a_dial_that_timed_out_does_not_blame_the_peer_of_the_mail) {
  DialPauses pauses(100ms, 5s);
  const auto error = pauses.failed({"host", 1}, {ErrorCode::kPeerTimeout, "no hello"}, 1.0, kStart);
  BOOST_TEST((error.code == ErrorCode::kLinkLost));
  BOOST_TEST((pauses.failed({"host", 1}, {ErrorCode::kRefused, "run"}, 1.0, kStart).code ==
              ErrorCode::kRefused));
}

BOOST_AUTO_TEST_CASE(a_node_without_room_is_no_busy_actor_and_says_when_to_come_again) {
  DialPauses pauses(100ms, 5s);
  const Endpoint at{"host", 1};
  const auto error = pauses.failed(at, {ErrorCode::kOverloaded, "no room", 1'000}, 1.0, kStart);
  BOOST_TEST((error.code == ErrorCode::kLinkLost));
  BOOST_TEST(pauses.refusal(at, kStart + 999ms).has_value());
  BOOST_TEST(!pauses.refusal(at, kStart + 1s));
  pauses.failed(at, {ErrorCode::kOverloaded, "no room", 3'600'000}, 1.0, kStart);
  BOOST_TEST(!pauses.refusal(at, kStart + 5s));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(NamesLookedUp)

// One detached thread each: contacts with names that nobody answers for were threads without end.
BOOST_AUTO_TEST_CASE(few_names_are_looked_up_at_once_and_all_in_their_turn) {
  LookUps look_ups;
  for (ConnId conn = 1; conn <= 100; ++conn) look_ups.add(conn, {"slow.example", 80});
  ConnId begun = 0;
  while (const auto wish = look_ups.next()) BOOST_TEST(wish->first == ++begun);
  BOOST_TEST(begun == LookUps::kAtOnce);
  for (ConnId ended = 1; ended <= 96; ++ended) {
    look_ups.ended();
    const auto wish = look_ups.next();
    BOOST_REQUIRE(wish);
    BOOST_TEST(wish->first == ++begun);
  }
  BOOST_TEST(begun == 100u);
  look_ups.ended();
  BOOST_TEST(!look_ups.next());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SendTurn)

BOOST_AUTO_TEST_CASE(without_a_limit_everybody_may_send_at_any_time) {
  SendTurns turns(0);
  for (ConnId conn = 1; conn < 100; ++conn) {
    BOOST_TEST(turns.may_send(conn, kStart));
    turns.sent(conn, 1 << 30);
  }
  BOOST_TEST(!turns.anybody_waits());
}

BOOST_AUTO_TEST_CASE(turns_go_by_class_and_then_by_who_has_waited_longest) {
  SendTurns turns(1'000);
  BOOST_TEST(turns.may_send(9, kStart));
  turns.sent(9, 10'000);  // into debt: everybody waits
  for (const ConnId conn : {1, 2, 3}) BOOST_TEST(!turns.may_send(conn, kStart));
  std::vector<ConnId> order;
  auto traffic = [](ConnId conn) {
    return conn == 3 ? TrafficClass::kControl : TrafficClass::kState;
  };
  const auto later = kStart + 24h;
  turns.serve(later, traffic, [&](ConnId conn) {
    BOOST_TEST(!turns.may_send(conn + 10, later));  // not its turn
    turns.forget(conn + 10);
    BOOST_TEST(turns.may_send(conn, later));
    BOOST_TEST(!turns.may_send(conn, later));  // one chunk a turn
    turns.forget(conn);
    order.push_back(conn);
  });
  BOOST_TEST(order == (std::vector<ConnId>{3, 1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(WaitingMails)

BOOST_AUTO_TEST_CASE(mail_waits_in_order_up_to_its_deadline_and_a_number_of_bytes) {
  WaitingMail waiting(100);
  const NodeId a = NodeId::random(), b = NodeId::random();
  auto push = [&](const NodeId& to, size_t body, std::chrono::seconds budget) {
    return waiting.push(to, {"echo", echo_mail(body), {}, kStart + budget});
  };
  BOOST_TEST(push(a, 60, 1s));
  BOOST_TEST(!push(a, 60, 1s));  // too many bytes
  BOOST_TEST(push(a, 0, 2s));
  BOOST_TEST(push(b, 1'000, 2s));  // one always passes
  BOOST_TEST(waiting.take_expired(kStart + 999ms).empty());
  BOOST_TEST(waiting.take_expired(kStart + 1s).size() == 1u);
  BOOST_TEST(push(a, 60, 3s));  // there is room again
  const auto rest = waiting.take(a);
  BOOST_REQUIRE_EQUAL(rest.size(), 2u);
  BOOST_TEST(rest[0].mail.body.size() == 0u);
  BOOST_TEST(waiting.empty(a));
  BOOST_TEST(!waiting.empty(b));
  BOOST_TEST(waiting.take_all().size() == 1u);
  BOOST_TEST(waiting.empty(b));
}

BOOST_AUTO_TEST_SUITE_END()
