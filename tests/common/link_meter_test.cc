#include "common/link_meter.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
namespace tt = boost::test_tools;

namespace {

/// Carries bytes over links of a node as its wire would, chunk by chunk.
struct Meter {
  LinkMeter meter;
  LinkMeter::TimePoint now{std::chrono::seconds(1)};

  explicit Meter(LinkMeterOptions options = {}) : meter(options) {}
  void wait(double seconds) {
    now += std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  }
  /// A frame alone on the node's wire.
  void frame(LinkMeter::LinkId link, uint64_t bytes, double bytes_per_s) {
    meter.set_busy(link, true, now);
    chunks(link, bytes, bytes_per_s);
    meter.set_busy(link, false, now);
  }
  void chunks(LinkMeter::LinkId link, uint64_t bytes, double bytes_per_s) {
    constexpr uint64_t kChunk = 16'384;
    for (uint64_t left = bytes; left > 0;) {
      const uint64_t chunk = std::min(left, kChunk);
      wait(static_cast<double>(chunk) / bytes_per_s);
      meter.moved(link, chunk, now);
      left -= chunk;
    }
  }
};

constexpr uint64_t kFrame = 512u << 10;

}  // namespace

BOOST_AUTO_TEST_SUITE(LinkMeterTest)

BOOST_FIXTURE_TEST_CASE(a_link_that_was_never_busy_is_not_known, Meter) {
  BOOST_TEST(meter.rate() == 0);
  BOOST_TEST(meter.rate(1) == 0);
  meter.moved(1, kFrame, now);  // of no busy time
  BOOST_TEST(meter.rate() == 0);
}

BOOST_FIXTURE_TEST_CASE(idle_time_does_not_count, Meter) {
  for (int i = 0; i < 4; ++i) {
    frame(1, kFrame, 1e6);
    wait(10);
  }
  BOOST_TEST(meter.rate() == 1e6, tt::tolerance(0.01));
}

BOOST_FIXTURE_TEST_CASE(what_was_seen_long_ago_is_not_known_any_more, Meter) {
  for (int i = 0; i < 4; ++i) {
    frame(1, kFrame, 60e3);
    frame(2, kFrame, 1e6);
  }
  BOOST_TEST(meter.rate(1) == 60e3, tt::tolerance(0.1));
  for (int i = 0; i < 400; ++i) {  // the link is well again, and its frames say nothing
    frame(1, 200'000, 1e6);
    wait(1);
    meter.look(now);
  }
  BOOST_TEST(meter.rate(1) > 0);
  for (int i = 0; i < 400; ++i) {
    frame(1, 200'000, 1e6);
    wait(1);
    meter.look(now);
  }
  BOOST_TEST(meter.rate(1) == 0);
  BOOST_TEST(meter.rate() == 0);
}

BOOST_FIXTURE_TEST_CASE(short_frames_say_nothing, Meter) {
  for (int i = 0; i < 1000; ++i) {
    frame(1, 60'000, 1e9);  // into a buffer
    wait(0.06);
  }
  BOOST_TEST(meter.rate() == 0);
}

BOOST_FIXTURE_TEST_CASE(what_vanishes_in_a_buffer_does_not_count, Meter) {
  for (int i = 0; i < 6; ++i) {
    meter.set_busy(1, true, now);
    meter.moved(1, 256u << 10, now);
    chunks(1, 256u << 10, 1e6);
    meter.set_busy(1, false, now);
    wait(1);
  }
  BOOST_TEST(meter.rate() == 1e6, tt::tolerance(0.01));
}

BOOST_FIXTURE_TEST_CASE(frames_in_a_row_are_one_busy_time, Meter) {
  meter.set_busy(1, true, now);
  for (int i = 0; i < 200; ++i) chunks(1, 10'000, 1e6);
  BOOST_TEST(meter.rate() == 1e6, tt::tolerance(0.01));
}

BOOST_FIXTURE_TEST_CASE(links_that_share_the_uplink_are_together_as_fast_as_it, Meter) {
  for (uint64_t link = 1; link <= 4; ++link) meter.set_busy(link, true, now);
  for (int i = 0; i < 400; ++i) {
    wait(16'384 / 4e6);
    meter.moved(1 + i % 4, 16'384, now);
  }
  BOOST_TEST(meter.rate() == 4e6, tt::tolerance(0.02));
  for (uint64_t link = 1; link <= 4; ++link) BOOST_TEST(meter.rate(link) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_slow_pair_is_slow_and_its_node_is_not, Meter) {
  meter.set_busy(1, true, now);  // always
  for (int i = 0; i < 40; ++i) {
    for (int chunk = 0; chunk < 20; ++chunk) {
      wait(16'384 / 1e6);
      meter.moved(1, 16'384, now);
    }
    frame(2, 2 * kFrame, 100e6);
  }
  BOOST_TEST(meter.rate() > 50e6);
  BOOST_TEST(meter.rate(1) == 1e6, tt::tolerance(0.1));
  BOOST_TEST(meter.rate(2) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_link_that_became_slow_is_seen_soon, Meter) {
  for (int i = 0; i < 20; ++i) frame(1, kFrame, 100e6);
  const auto before = now;
  while (meter.rate() > 1.3e6 && now - before < std::chrono::minutes(1)) frame(1, kFrame, 1e6);
  BOOST_TEST((now - before < std::chrono::seconds(6)));
}

BOOST_FIXTURE_TEST_CASE(a_link_that_became_fast_is_seen_at_once, Meter) {
  for (int i = 0; i < 20; ++i) frame(1, kFrame, 1e6);
  for (int i = 0; i < 6; ++i) frame(1, kFrame, 100e6);
  BOOST_TEST(meter.rate() > 50e6);
}

// The senders' own links may be what is slow: only the best of them says what the receiver can do.
BOOST_FIXTURE_TEST_CASE(a_slow_sender_is_not_charged_to_the_receiver, Meter) {
  meter.set_busy(1, true, now);  // it sends at 1 MB/s, always
  for (int i = 0; i < 40; ++i) {
    chunks(1, 300'000, 1e6);
    frame(2, kFrame, 50e6);
  }
  BOOST_TEST(meter.rate() > 40e6);
}

// Three send to one who learns, each with a third of what their own links carry; between, each carries what
// it can. A window of that kind halved the rate, and the parts of the next round were cut for a slow link.
BOOST_FIXTURE_TEST_CASE(what_others_hold_up_now_and_then_makes_no_link_slow, Meter) {
  for (int i = 0; i < 20; ++i) {
    frame(1, 2 * kFrame, 3e6);
    frame(2, 2 * kFrame, 9e6);
    BOOST_TEST((i == 0 || meter.rate() > 8.5e6), i << ": " << meter.rate());
    frame(1, 2 * kFrame, 3e6);
    frame(1, 2 * kFrame, 3e6);
    BOOST_TEST((i == 0 || meter.rate() > 8.5e6), i << ": " << meter.rate());
  }
}

BOOST_FIXTURE_TEST_CASE(a_forgotten_link_is_no_longer_busy, Meter) {
  meter.set_busy(1, true, now);
  wait(5);
  meter.forget(1, now);
  wait(100);
  for (int i = 0; i < 4; ++i) frame(2, kFrame, 1e6);
  BOOST_TEST(meter.rate() == 1e6, tt::tolerance(0.01));
  meter.set_busy(2, false, now);
  meter.forget(77, now);
  BOOST_TEST(meter.rate(1) == 0);
}

BOOST_FIXTURE_TEST_CASE(who_waits_while_others_go_first_is_no_slow_pair, Meter) {
  for (int i = 0; i < 10; ++i) {
    meter.set_busy(2, true, now);
    chunks(2, kFrame, 1e6);
    frame(1, 4 * kFrame, 1e6);  // of a more urgent kind
    chunks(2, kFrame / 3, 1e6);
    meter.set_busy(2, false, now);
    BOOST_TEST(meter.rate(2) == 0);
  }
  // By itself it is: what the node carries beside it does not fill the node.
  for (int i = 0; i < 10; ++i) {
    meter.set_busy(2, true, now);
    chunks(2, kFrame, 3e5);
    frame(1, 2 * kFrame, 1e6);
    chunks(2, 2 * kFrame, 3e5);
    meter.set_busy(2, false, now);
  }
  BOOST_TEST(meter.rate(2) == 3e5, tt::tolerance(0.1));
}

BOOST_AUTO_TEST_SUITE_END()
