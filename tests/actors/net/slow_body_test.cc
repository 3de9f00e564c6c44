// A few bytes now and then held the receive budget for ever, and nobody else's bodies were read.
#include <boost/test/unit_test.hpp>

#include "actors/net/links/session.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart = TimePoint{} + 1h;

std::shared_ptr<LinksOptions> options(uint8_t number) {
  auto options = std::make_shared<LinksOptions>(testing::link_options(number));
  return options;
}

/// Bodies of 40,000 bytes come to one node from two others; there is room for one.
struct Crowd {
  Crowd() {
    testing::exchange(slow, from_slow, kStart);
    testing::exchange(other, from_other, kStart);
    for (Session* one : {&slow, &other}) {
      const Buffer body = Buffer::from_string(std::string(40'000, 'b'));
      BOOST_REQUIRE(one->send("echo", make_mail(proto::Echo(), body)).ok());
      while (one->next_chunk(one == &slow ? slow_bytes : other_bytes)) {
      }
    }
    from_slow.receive(slow_bytes.data(), 5'000, kStart);
    sent = 5'000;
  }
  void others_wait() {
    from_other.receive(other_bytes.data(), other_bytes.size(), kStart);
    BOOST_TEST(from_other.paused());
  }
  /// For a minute; true: the link is still up.
  bool lives(size_t bytes_per_s) {
    for (int second = 1; second <= 61; ++second) {
      const TimePoint now = kStart + second * 1s;
      if (bytes_per_s > 0 && sent + bytes_per_s < slow_bytes.size()) {
        from_slow.receive(slow_bytes.data() + sent, bytes_per_s, now);
        sent += bytes_per_s;
      } else {
        from_slow.receive("", 0, now);  // heard, but nothing comes
      }
      from_slow.tick(now);
    }
    return from_slow.state() == Session::State::kUp;
  }

  std::shared_ptr<ReceiveBudget> budget = std::make_shared<ReceiveBudget>(50'000, nullptr);
  std::shared_ptr<ReceiveBudget> own = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  Session slow{options(1), true, own, kStart}, other{options(2), true, own, kStart};
  Session from_slow{options(3), false, budget, kStart},
      from_other{options(3), false, budget, kStart};
  std::vector<char> slow_bytes, other_bytes;
  size_t sent = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(SlowBodies)

BOOST_AUTO_TEST_CASE(who_keeps_others_waiting_and_sends_nearly_nothing_is_cut) {
  Crowd crowd;
  crowd.others_wait();
  BOOST_TEST(!crowd.lives(1));
  BOOST_TEST(crowd.from_slow.reason().detail.find("half here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_slow_link_that_brings_what_it_can_is_not) {
  Crowd steady;
  steady.others_wait();
  for (int second = 1; second <= 31; ++second) {
    steady.from_slow.receive(steady.slow_bytes.data() + steady.sent, 1'100, kStart + second * 1s);
    steady.sent += 1'100;
    steady.from_slow.tick(kStart + second * 1s);
  }
  BOOST_TEST((steady.from_slow.state() == Session::State::kUp));
}

BOOST_AUTO_TEST_CASE(while_nobody_waits_any_rate_will_do) {
  Crowd crowd;
  BOOST_TEST(crowd.lives(1));
}

BOOST_AUTO_TEST_SUITE_END()
