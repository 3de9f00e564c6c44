#include "actors/net/links/session.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;
using Type = LinkEvent::Type;

namespace {

const TimePoint kStart = TimePoint{} + 1h;

std::shared_ptr<LinksOptions> options(uint8_t number) {
  auto options = std::make_shared<LinksOptions>(testing::link_options(number));
  options->max_chunk_bytes = 1000;
  return options;
}

Mail echo_mail(uint64_t sequence, size_t body = 0, std::chrono::milliseconds budget = 10s) {
  proto::Echo echo;
  echo.set_sequence(sequence);
  return make_mail(echo, Buffer::from_string(std::string(body, 'b')), budget);
}

/// Two sessions and the wire between them.
struct Pair {
  explicit Pair(std::shared_ptr<LinksOptions> a_options = options(1),
                std::shared_ptr<LinksOptions> b_options = options(2),
                std::shared_ptr<ReceiveBudget> b_budget = std::make_shared<ReceiveBudget>(1 << 30,
                                                                                          nullptr),
                const Admissions* b_admissions = nullptr)
      : a(a_options, true, std::make_shared<ReceiveBudget>(1 << 30, nullptr), kStart),
        b(b_options, false, b_budget, kStart, {}, b_admissions) {}

  void exchange(TimePoint now = kStart, size_t piece = 1 << 20) {
    testing::exchange(a, b, now, piece);
  }
  void up() {
    exchange();
    BOOST_REQUIRE((a.state() == Session::State::kUp && b.state() == Session::State::kUp));
    a.take_events();
    b.take_events();
  }

  Session a, b;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(Sessions)

BOOST_AUTO_TEST_CASE(hello_tells_both_sides_who_the_other_is) {
  for (size_t piece : {1u, 7u, 1000u}) {
    Pair pair;
    pair.exchange(kStart, piece);
    BOOST_TEST((pair.a.state() == Session::State::kUp));
    BOOST_TEST(pair.a.peer().name == "node2");
    BOOST_TEST(pair.b.peer().name == "node1");
    BOOST_TEST(pair.b.take_events().size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(hellos_that_do_not_match_are_refused_with_the_reason) {
  auto refused = [](std::shared_ptr<LinksOptions> other) {
    Pair pair(options(1), other);
    pair.exchange();
    BOOST_TEST((pair.a.state() == Session::State::kClosed));
    BOOST_TEST((pair.b.state() == Session::State::kClosed));
    BOOST_TEST((pair.a.reason().code == ErrorCode::kRefused));
    BOOST_TEST(pair.a.complaints().refused);
    BOOST_TEST(pair.a.reason().detail == pair.b.reason().detail);
    return pair.a.reason().detail;
  };
  auto run = options(2);
  run->run_id = "another";
  BOOST_TEST(refused(run).find("another") != std::string::npos);
  auto settings = options(2);
  settings->config_fingerprint = "f00";
  BOOST_TEST(refused(settings).find("f00") != std::string::npos);
  BOOST_TEST(refused(options(1)).find("itself") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_reply_reaches_the_request_of_its_id) {
  Pair pair;
  pair.up();
  auto first = pair.a.request("echo", echo_mail(1), kStart);
  auto second = pair.a.request("echo", echo_mail(2), kStart);
  BOOST_REQUIRE((first.ok() && second.ok()));
  pair.exchange();
  auto mail = pair.b.take_events();
  BOOST_REQUIRE_EQUAL(mail.size(), 2u);
  BOOST_TEST(mail[0].actor == "echo");
  pair.b.reply(mail[1].request_id, mail[1].mail);
  pair.b.reply(mail[0].request_id, Error{ErrorCode::kOverloaded, "full", 7});
  pair.exchange();
  auto answers = pair.a.take_events();
  BOOST_REQUIRE_EQUAL(answers.size(), 2u);
  BOOST_TEST((answers[0].type == Type::kReply && answers[0].request_id == *second));
  BOOST_TEST((answers[1].type == Type::kFailed && answers[1].request_id == *first));
  BOOST_TEST((answers[1].error.code == ErrorCode::kOverloaded));
  BOOST_TEST(answers[1].error.retry_after_ms == 7u);
}

BOOST_AUTO_TEST_CASE(a_reply_of_another_kind_than_the_request_wants_fails_it) {
  Pair pair;
  pair.up();
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(1), kStart).ok());
  pair.exchange();
  auto mail = pair.b.take_events();
  BOOST_REQUIRE(!mail.empty());
  pair.b.reply(mail.back().request_id, make_mail(proto::Ack()));
  pair.exchange();
  auto answers = pair.a.take_events();
  BOOST_REQUIRE(!answers.empty());
  BOOST_TEST((answers.back().type == Type::kFailed));
  BOOST_TEST(answers.back().error.detail.find("another kind") != std::string::npos);
  BOOST_TEST((pair.a.state() == Session::State::kUp));
}

BOOST_AUTO_TEST_CASE(who_asks_for_echoes_and_never_reads_gets_no_endless_queue) {
  Pair pair;
  pair.up();
  proto::Heartbeat beat;
  beat.set_sent_us(1);
  OutFrame frame = make_frame(proto::KIND_HEARTBEAT, kOneWay, 0, 0ms, {}, beat, {});
  std::vector<char> bytes;
  append_chunk(frame, 1 << 20, bytes);
  for (int i = 0; i < 150'000; ++i) pair.b.receive(bytes.data(), bytes.size(), kStart);
  BOOST_TEST((pair.b.state() == Session::State::kUp));
  std::vector<char> out;
  size_t chunks = 0;
  while (pair.b.next_chunk(out)) ++chunks;
  BOOST_TEST(chunks <= 100'000u);
}

BOOST_AUTO_TEST_CASE(control_overtakes_a_body_between_chunks) {
  Pair pair;
  pair.up();
  BOOST_REQUIRE(pair.a.request("stage", echo_mail(1, 200'000), kStart).ok());
  std::vector<char> bytes;
  pair.a.next_chunk(bytes);
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(2), kStart).ok());
  pair.a.next_chunk(bytes);
  pair.b.receive(bytes.data(), bytes.size(), kStart);
  auto events = pair.b.take_events();
  BOOST_REQUIRE_EQUAL(events.size(), 1u);
  BOOST_TEST(events[0].mail.as<proto::Echo>().sequence() == 2u);
  pair.exchange();
  events = pair.b.take_events();
  BOOST_REQUIRE_EQUAL(events.size(), 1u);
  BOOST_TEST(events[0].mail.body.size() == 200'000u);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_late_fails_and_is_cancelled) {
  Pair pair;
  pair.up();
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(1, 0, 100ms), kStart).ok());
  pair.exchange();
  auto mail = pair.b.take_events();
  pair.a.tick(kStart + 99ms);
  BOOST_TEST(pair.a.take_events().empty());
  pair.a.tick(kStart + 100ms);
  auto events = pair.a.take_events();
  BOOST_REQUIRE_EQUAL(events.size(), 1u);
  BOOST_TEST((events[0].error.code == ErrorCode::kPeerTimeout));
  pair.exchange();
  pair.b.reply(mail[0].request_id, mail[0].mail);  // dropped: nobody waits
  BOOST_TEST(pair.b.output().empty());
}

BOOST_AUTO_TEST_CASE(a_late_request_that_never_left_is_not_sent) {
  Pair pair;
  pair.up();
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(1, 5000, 100ms), kStart).ok());
  pair.a.tick(kStart + 200ms);
  pair.exchange(kStart + 200ms);
  BOOST_TEST(pair.b.take_events().empty());
  BOOST_TEST(pair.a.stats(kStart).queued_bytes == 0u);
}

// Parts of averages, of the same class as gradients of activations, were counted too.
BOOST_AUTO_TEST_CASE(only_microbatches_are_queued_work) {
  Pair pair;
  pair.up();
  const auto body = Buffer::from_string(std::string(10'000, 'x'));
  BOOST_REQUIRE(pair.a.send("echo", make_mail(proto::AveragePart(), body)).ok());
  BOOST_TEST(pair.a.stats(kStart).queued_bytes > 10'000u);
  BOOST_TEST(pair.a.stats(kStart).queued_work_bytes == 0u);
  BOOST_REQUIRE(pair.a.send("echo", make_mail(proto::ForwardRequest(), body)).ok());
  BOOST_REQUIRE(pair.a.send("echo", make_mail(proto::ForwardReply(), body)).ok());
  const uint64_t work = pair.a.stats(kStart).queued_work_bytes;
  BOOST_TEST(work >= 20'000u);
  BOOST_TEST(work < 21'000u);
}

BOOST_AUTO_TEST_CASE(a_late_request_that_has_half_left_is_broken_off) {
  Pair pair;
  pair.up();
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(1, 500'000, 100ms), kStart).ok());
  for (int chunk = 0; chunk < 10; ++chunk)
    BOOST_REQUIRE(testing::carry(pair.a, pair.b, kStart, 400));
  BOOST_TEST(pair.b.input().expects_body());
  pair.a.tick(kStart + 200ms);
  BOOST_TEST(pair.a.stats(kStart).queued_bytes < 100u);
  pair.exchange(kStart + 200ms);
  BOOST_TEST((pair.b.state() == Session::State::kUp));
  BOOST_TEST(!pair.b.input().expects_body());
  BOOST_TEST(pair.b.take_events().empty());
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(2, 5'000), kStart + 200ms).ok());
  pair.exchange(kStart + 200ms);
  BOOST_TEST(pair.b.take_events().size() == 1u);
}

// What had left was more than what was left to be sent: a number without a sign.
BOOST_AUTO_TEST_CASE(work_that_is_broken_off_is_queued_no_more) {
  Pair pair;
  pair.up();
  const auto body = Buffer::from_string(std::string(500'000, 'x'));
  BOOST_REQUIRE(
      pair.a.request("echo", make_mail(proto::ForwardRequest(), body, 100ms), kStart).ok());
  for (int chunk = 0; chunk < 10; ++chunk)
    BOOST_REQUIRE(testing::carry(pair.a, pair.b, kStart, 400));
  BOOST_TEST(pair.a.stats(kStart).queued_work_bytes > 400'000u);
  pair.a.tick(kStart + 200ms);
  BOOST_TEST(pair.a.stats(kStart).queued_work_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_request_that_its_actor_has_no_room_for_is_refused_before_its_body_is_read) {
  auto admission = std::make_shared<Admission>();
  Admissions admissions;
  admissions.add("stage", admission);
  const auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  Pair pair(options(1), options(2), budget, &admissions);
  pair.up();
  admission->close(ErrorCode::kOverloaded, /*retry_after_ms=*/70);
  const uint64_t before = pair.a.stats(kStart).bytes_sent[0];
  BOOST_REQUIRE(pair.a.request("stage", echo_mail(1, 500'000), kStart).ok());
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(2, 500), kStart).ok());  // not asked of it
  while (pair.a.take_events().empty()) {
    BOOST_REQUIRE(testing::carry(pair.a, pair.b, kStart, 1000));
    testing::carry(pair.b, pair.a, kStart, 1000);
    BOOST_TEST(budget->used_bytes() <= 500u);
    BOOST_REQUIRE(pair.a.stats(kStart).bytes_sent[0] - before < 5'000u);
  }
  pair.exchange();
  BOOST_TEST(pair.a.stats(kStart).bytes_sent[3] < 5'000u);  // the rest never left
  const auto events = pair.b.take_events();
  BOOST_REQUIRE_EQUAL(events.size(), 1u);
  BOOST_TEST(events[0].actor == "echo");
  admission->close(ErrorCode::kNotReady, /*retry_after_ms=*/100);  // nor one that does not serve
  BOOST_REQUIRE(pair.a.request("stage", echo_mail(4, 500'000), kStart).ok());
  std::vector<LinkEvent> refused;
  while (refused.empty()) {
    BOOST_REQUIRE(testing::carry(pair.a, pair.b, kStart, 1000));
    testing::carry(pair.b, pair.a, kStart, 1000);
    refused = pair.a.take_events();
  }
  BOOST_TEST((refused[0].error.code == ErrorCode::kNotReady));
  BOOST_TEST(refused[0].error.retry_after_ms == 100u);
  pair.exchange();
  BOOST_TEST(pair.b.take_events().empty());
  admission->open();
  BOOST_REQUIRE(pair.a.request("stage", echo_mail(3, 500'000), kStart).ok());
  pair.exchange();
  BOOST_TEST(pair.b.take_events().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_reply_to_an_own_request_passes_a_budget_that_is_used_up) {
  const auto budget = std::make_shared<ReceiveBudget>(1'000, nullptr);
  Pair pair(options(1), options(2), budget);
  pair.up();
  BOOST_REQUIRE(pair.b.request("stage", echo_mail(1, 900), kStart).ok());
  pair.exchange();
  const auto asked = pair.a.take_events();
  BOOST_REQUIRE_EQUAL(asked.size(), 1u);
  const auto held = budget->take(1'000, true);
  pair.a.reply(asked[0].request_id, echo_mail(1, 900));
  pair.exchange();
  BOOST_TEST(!pair.b.paused());
  BOOST_REQUIRE_EQUAL(pair.b.take_events().size(), 1u);
  // What is much larger than what was asked with is not what was asked for: it waits.
  BOOST_REQUIRE(pair.b.request("stage", echo_mail(2, 900), kStart).ok());
  pair.exchange();
  pair.a.reply(pair.a.take_events().at(0).request_id, echo_mail(2, 9'000));
  pair.exchange();
  BOOST_TEST(pair.b.paused());
}

BOOST_AUTO_TEST_CASE(a_reply_that_nobody_waits_for_takes_no_memory) {
  const auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  Pair pair(options(1), options(2), budget);
  pair.up();
  BOOST_REQUIRE(pair.b.request("stage", echo_mail(1, 900, 100ms), kStart).ok());
  pair.exchange();
  const auto asked = pair.a.take_events();
  pair.b.tick(kStart + 200ms);
  BOOST_TEST(pair.b.take_events().size() == 1u);         // failed
  pair.a.reply(asked[0].request_id, echo_mail(1, 900));  // its cancellation is still on the way
  while (testing::carry(pair.a, pair.b, kStart + 200ms, 100))
    BOOST_TEST(budget->used_bytes() == 0u);
  BOOST_TEST(pair.b.take_events().empty());
  BOOST_TEST((pair.b.state() == Session::State::kUp));
}

BOOST_AUTO_TEST_CASE(a_lost_link_fails_all_requests_at_once) {
  Pair pair;
  pair.up();
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE(pair.a.request("echo", echo_mail(i), kStart).ok());
  pair.a.close({ErrorCode::kIo, "reset", 0}, false);
  auto events = pair.a.take_events();
  BOOST_REQUIRE_EQUAL(events.size(), 3u);
  for (const auto& event : events) BOOST_TEST((event.error.code == ErrorCode::kLinkLost));
  BOOST_TEST((pair.a.request("echo", echo_mail(9), kStart).code() == ErrorCode::kLinkLost));
}

BOOST_AUTO_TEST_CASE(silence_ends_a_link_and_heartbeats_keep_it) {
  Pair pair;
  pair.up();
  auto now = kStart;
  for (int i = 0; i < 100; ++i) {
    now += 200ms;
    pair.a.tick(now);
    pair.b.tick(now);
    pair.exchange(now);
  }
  BOOST_TEST((pair.a.state() == Session::State::kUp));
  BOOST_TEST(pair.b.send("x", echo_mail(1)).ok());
  pair.exchange(now);
  pair.a.tick(now + 5s);
  BOOST_TEST((pair.a.state() == Session::State::kUp));
  pair.a.tick(now + 5001ms);
  BOOST_TEST((pair.a.state() == Session::State::kClosed));
  BOOST_TEST((pair.a.reason().code == ErrorCode::kLinkLost));
}

BOOST_AUTO_TEST_CASE(heartbeats_measure_the_round_trip) {
  Pair pair;
  pair.up();
  pair.a.tick(kStart + 500ms);
  testing::carry(pair.a, pair.b, kStart + 510ms, 100);
  testing::carry(pair.b, pair.a, kStart + 520ms, 100);
  BOOST_TEST(pair.a.stats(kStart).round_trip_s == 0.020, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_link_that_is_used_needs_no_heartbeats) {
  auto heartbeats = [](bool use) {  // that a sends in 9.5 s after both sides' probes
    Pair pair;
    pair.up();
    pair.a.tick(kStart + 50ms);
    pair.b.tick(kStart + 50ms);
    pair.exchange(kStart + 50ms);
    int count = 0;
    for (auto now = kStart + 100ms; now < kStart + 9600ms; now += 50ms) {
      if (use && (now - kStart) % 200ms == 0ms) {
        BOOST_TEST(pair.a.send("x", echo_mail(1)).ok());
        pair.exchange(now);
      }
      BOOST_TEST((pair.a.output().empty()));
      if (pair.a.due(now)) pair.a.tick(now);
      count += !pair.a.output().empty() ? 1 : 0;
      pair.b.tick(now);
      pair.exchange(now);
    }
    return count;
  };
  BOOST_TEST(heartbeats(false) == 8);  // in the first second it has echoed
  BOOST_TEST(heartbeats(true) == 0);
}

BOOST_AUTO_TEST_CASE(the_deadline_of_an_answered_request_is_forgotten_with_it) {
  auto quiet = options(1);
  quiet->heartbeat_every = quiet->silence_limit = 1h;
  Pair pair(quiet);
  pair.up();
  pair.a.tick(kStart);  // the first heartbeat
  BOOST_REQUIRE(pair.a.request("echo", echo_mail(1, 0, 120s), kStart).ok());
  pair.exchange();
  auto mail = pair.b.take_events();
  BOOST_REQUIRE_EQUAL(mail.size(), 1u);
  pair.b.reply(mail[0].request_id, mail[0].mail);
  pair.exchange();
  BOOST_TEST(pair.a.take_events().size() == 1u);
  BOOST_TEST(!pair.a.due(kStart + 121s));
}

BOOST_AUTO_TEST_CASE(a_hello_that_does_not_come_ends_the_link) {
  Pair pair;
  pair.b.tick(kStart + 2900ms);
  BOOST_TEST((pair.b.state() == Session::State::kHello));
  pair.b.tick(kStart + 3001ms);
  BOOST_TEST((pair.b.state() == Session::State::kClosed));
}

BOOST_AUTO_TEST_CASE(mail_before_hello_is_refused) {
  Pair pair;
  proto::Heartbeat beat;
  auto frame = make_frame(proto::KIND_HEARTBEAT, kOneWay, 0, 0ms, "", beat, {});
  std::vector<char> bytes;
  append_chunk(frame, 1000, bytes);
  pair.b.receive(bytes.data(), bytes.size(), kStart);
  BOOST_TEST((pair.b.state() == Session::State::kClosed));
  BOOST_TEST(pair.b.complaints().malformed);
}

BOOST_AUTO_TEST_CASE(unknown_and_unreadable_mail_is_answered_and_the_link_lives) {
  Pair pair;
  pair.up();
  std::vector<char> bytes;
  auto unknown =
      make_frame(static_cast<proto::MessageKind>(9999), kRequest, 1, 1s, "x", proto::Ack(), {});
  append_chunk(unknown, 1000, bytes);
  proto::Error junk;  // field 1 as a number where DhtStore has a message
  junk.set_code(77);
  auto unreadable = make_frame(proto::KIND_DHT_STORE, kRequest, 2, 1s, "x", junk, {});
  unreadable.front.back() = static_cast<char>(0xff);
  append_chunk(unreadable, 1000, bytes);
  pair.b.receive(bytes.data(), bytes.size(), kStart);
  BOOST_TEST((pair.b.state() == Session::State::kUp));
  BOOST_TEST(pair.b.take_events().empty());
  BOOST_TEST(pair.b.complaints().malformed_mail == 2u);
  BOOST_TEST(!pair.b.output().empty());
}

BOOST_AUTO_TEST_CASE(a_full_send_queue_refuses_bodies_but_not_control) {
  auto small = options(1);
  small->send_budget_bytes = 10'000;
  Pair pair(small, options(2));
  pair.up();
  BOOST_REQUIRE(pair.a.request("x", echo_mail(1, 9'000), kStart).ok());
  BOOST_TEST((pair.a.request("x", echo_mail(2, 9'000), kStart).code() == ErrorCode::kOverloaded));
  BOOST_TEST(pair.a.request("x", echo_mail(3), kStart).ok());
}

BOOST_AUTO_TEST_CASE(random_bytes_after_hello_end_the_link_without_harm) {
  std::minstd_rand random(11);
  for (int round = 0; round < 500; ++round) {
    Pair pair;
    pair.up();
    std::vector<char> noise(random() % 500 + 8);
    for (auto& byte : noise) byte = static_cast<char>(random());
    noise[0] = 'G';
    pair.b.receive(noise.data(), noise.size(), kStart);
    BOOST_REQUIRE((pair.b.state() == Session::State::kClosed));
  }
}

BOOST_AUTO_TEST_CASE(bytes_and_messages_are_counted_on_both_sides) {
  Pair pair;
  pair.up();
  Mail forward = make_mail(proto::ForwardRequest(), Buffer::from_string(std::string(5000, 'x')));
  BOOST_REQUIRE(pair.a.request("stage.0", forward, kStart).ok());
  pair.exchange();
  auto activations = static_cast<size_t>(TrafficClass::kActivations);
  auto sent = pair.a.stats(kStart).bytes_sent[activations];
  BOOST_TEST(sent > 5000u);
  BOOST_TEST(sent == pair.b.stats(kStart).bytes_received[activations]);
  const uint64_t messages = pair.a.stats(kStart).messages_sent;
  BOOST_TEST(messages == pair.b.stats(kStart).messages_received);
  BOOST_REQUIRE(pair.a.send("stage.0", forward).ok());
  BOOST_TEST(pair.a.stats(kStart).messages_sent == messages);  // it waits
  pair.exchange();
  BOOST_TEST(pair.a.stats(kStart).messages_sent == messages + 1);
  BOOST_TEST(pair.b.stats(kStart).messages_received == messages + 1);
}

BOOST_AUTO_TEST_SUITE_END()
