#include "actors/net/links/busy_meters.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<LinksOptions> options(uint32_t number) {
  auto options = std::make_shared<LinksOptions>();
  options->node_id = testing::node(number);
  options->node_name = "node" + std::to_string(number);
  options->run_id = "run";
  return options;
}

/// Two linked sessions, the meters of both nodes, and a wire of 1 MB/s from the first to the second
/// that takes a chunk when the last one is through.
struct Wire {
  TimePoint now = TimePoint{} + 1h;
  Session a{options(1), true, std::make_shared<ReceiveBudget>(1 << 30, nullptr), now};
  Session b{options(2), false, std::make_shared<ReceiveBudget>(1 << 30, nullptr), now};
  BusyMeters of_a, of_b;

  Wire() {
    testing::exchange(a, b, now);
    BOOST_REQUIRE((a.state() == Session::State::kUp && b.state() == Session::State::kUp));
  }
  bool carry(Session& from, Session& to, double bytes_per_s) {
    std::vector<char> bytes;
    if (!from.next_chunk(bytes, 16'384)) return false;
    of_a.sending(1, &a, bytes.size(), now);
    if (bytes_per_s > 0)
      now += std::chrono::nanoseconds(
          static_cast<int64_t>(static_cast<double>(bytes.size()) / bytes_per_s * 1e9));
    to.receive(bytes.data(), bytes.size(), now);
    if (&from != &a) return true;
    of_a.left(1, bytes.size(), now);
    of_a.sending(1, &a, 0, now);
    of_b.received(7, &b, bytes.size(), now);
    return true;
  }
  template <class Head = proto::ForwardRequest>
  void send(size_t body_bytes, double bytes_per_s = 1e6) {
    const auto mail = make_mail(Head(), Buffer::from_string(std::string(body_bytes, 'x')));
    BOOST_REQUIRE(a.send("echo", mail).ok());
    while (carry(a, b, bytes_per_s)) {
    }
    b.take_events();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(BusyMetersTest, Wire)

BOOST_AUTO_TEST_CASE(both_sides_measure_a_link_while_it_is_busy) {
  for (int i = 0; i < 5; ++i) {
    send(1'000'000);
    now += 10s;
  }
  LinksStats sender, receiver;
  of_a.tell(sender, now);
  of_b.tell(receiver, now);
  BOOST_TEST(sender.send_bytes_per_s == 1e6, boost::test_tools::tolerance(0.02));
  BOOST_TEST(receiver.receive_bytes_per_s == 1e6, boost::test_tools::tolerance(0.02));
  BOOST_TEST(sender.receive_bytes_per_s == 0);
  BOOST_TEST(receiver.send_bytes_per_s == 0);
}

BOOST_AUTO_TEST_CASE(small_mail_says_nothing) {
  for (int i = 0; i < 100; ++i) {
    send(10'000, 1e9);
    now += 1s;
  }
  LinksStats sender, receiver;
  of_a.tell(sender, now);
  of_b.tell(receiver, now);
  BOOST_TEST(sender.send_bytes_per_s == 0);
  BOOST_TEST(receiver.receive_bytes_per_s == 0);
}

// A twin behind a slow link made its neighbour look as slow to all.
BOOST_AUTO_TEST_CASE(what_is_no_microbatch_says_nothing) {
  for (int i = 0; i < 5; ++i) {
    send<proto::AveragePart>(1'000'000);
    send<proto::StateChunkReply>(1'000'000);
  }
  LinksStats sender, receiver;
  of_a.tell(sender, now);
  of_b.tell(receiver, now);
  BOOST_TEST(sender.send_bytes_per_s == 0);
  BOOST_TEST(receiver.receive_bytes_per_s == 0);
}

BOOST_AUTO_TEST_CASE(a_link_that_ended_is_forgotten) {
  send(1'000'000);
  of_a.forget(1, now);
  of_a.forget(1, now);
  of_a.sending(1, nullptr, 0, now);
  of_b.forget(7, now);
  of_b.received(7, nullptr, 100, now);
  LinksStats stats;
  stats.links.push_back({});
  of_a.tell(stats, now);
  BOOST_TEST(stats.links.front().busy_bytes_per_s == 0);
}

BOOST_AUTO_TEST_SUITE_END()
