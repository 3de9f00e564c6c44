/// What makes links worse than they are, each part alone: arithmetic on times that the test names.
#include <boost/test/unit_test.hpp>

#include "actors/net/links/shape/link_shaper.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

using TimePoint = std::chrono::steady_clock::time_point;
const TimePoint kStart = TimePoint{} + 1h;
constexpr ConnId kA = 1, kB = 2;

double seconds(TimePoint::duration time) { return std::chrono::duration<double>(time).count(); }

PathShape path(std::string from, std::string to, std::optional<double> rate,
               std::optional<double> delay_s = {}, std::optional<double> jitter_s = {}) {
  return {std::move(from), std::move(to), rate, delay_s, jitter_s};
}

LinkShape delayed(double delay_s, double jitter_s = 0, double rate = 0) {
  return {0, delay_s, jitter_s, rate};
}

/// The text of what is due, of one connection.
std::string take_all(Inlet& inlet, TimePoint now) {
  std::string out;
  while (const auto due = inlet.take(now))
    out += due->end ? "." : std::string(due->bytes.begin(), due->bytes.end());
  return out;
}

bool push(Inlet& inlet, ConnId conn, const std::string& bytes, TimePoint now) {
  return inlet.push(conn, bytes.data(), bytes.size(), now);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(LinkShapes)

BOOST_AUTO_TEST_CASE(a_star_stands_for_any_letters_and_none) {
  for (const char* fits : {"s0-a", "*", "s*", "*a", "s*a", "*0*", "s0-a*", "s**a"})
    BOOST_TEST(is_meant(fits, "s0-a"), fits);
  for (const char* other : {"", "s0", "s0-b", "*b", "a*", "s0-aa", "S0-a"})
    BOOST_TEST(!is_meant(other, "s0-a"), other);
  BOOST_TEST(is_meant("*ab*ab", "xababab"));
}

BOOST_AUTO_TEST_CASE(later_rows_overrule_earlier_ones_figure_by_figure) {
  ShapeOptions shape;
  shape.paths = {path("*", "*", 1e6, 0.05, 0.01), path("a", "b", {}, 0.2), path("a", "c", 5e5),
                 path("b", "a", {}, {}, 0.0)};
  const LinkShape to_b = link_shape(shape, "a", "b"), to_c = link_shape(shape, "a", "c");
  BOOST_TEST(to_b.send_bytes_per_s == 1e6);
  BOOST_TEST(to_c.send_bytes_per_s == 5e5);
  BOOST_TEST(to_b.delay_s == 0.05);  // of what comes from b
  BOOST_TEST(to_b.jitter_s == 0.0);
  const LinkShape at_b = link_shape(shape, "b", "a");
  BOOST_TEST(at_b.delay_s == 0.2);
  BOOST_TEST(at_b.jitter_s == 0.01);
  BOOST_TEST(at_b.known_receive_rate == 1e6);
  BOOST_TEST(link_shape(shape, "c", "a").known_receive_rate == 5e5);
}

BOOST_AUTO_TEST_CASE(a_nodes_own_delay_is_added_and_holds_for_who_has_not_said_its_name) {
  ShapeOptions shape;
  shape.node = {0, 3e5, 0.1, 0.02};
  shape.paths = {path("b", "a", 1e6, 0.05, 0.01)};
  const LinkShape known = link_shape(shape, "a", "b"), stranger = link_shape(shape, "a", "");
  BOOST_TEST(known.delay_s == 0.15, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(known.jitter_s == 0.03, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(known.known_receive_rate == 3e5);
  BOOST_TEST(stranger.delay_s == 0.1);
  BOOST_TEST(link_shape({{}, {path("*", "*", 1e6)}}, "a", "").send_bytes_per_s == 0);
}

BOOST_AUTO_TEST_CASE(a_cut_path_is_cut_both_ways_until_a_later_row_joins_it) {
  ShapeOptions shape;
  shape.paths = {{"a", "*", {}, {}, {}, true}};
  BOOST_TEST(link_shape(shape, "a", "b").cut);
  BOOST_TEST(link_shape(shape, "b", "a").cut);
  BOOST_TEST(!link_shape(shape, "b", "c").cut);
  BOOST_TEST(!link_shape(shape, "a", "").cut);  // nobody knows yet who it is
  ShapeChange joined;
  joined.node = "b";
  joined.to = "a";
  joined.cut = false;
  apply(joined, "b", shape);
  BOOST_TEST(!link_shape(shape, "a", "b").cut);
  BOOST_TEST(link_shape(shape, "a", "c").cut);
}

BOOST_AUTO_TEST_CASE(a_change_changes_what_it_names_and_only_for_whom_it_names) {
  ShapeOptions shape;
  shape.node = {1e6, 2e6, 0.1, 0};
  ShapeChange own;
  own.node = "s*";
  own.receive_bytes_per_s = 5e4;
  apply(own, "t", shape);
  BOOST_TEST(shape.node.receive_bytes_per_s == 2e6);
  apply(own, "s0", shape);
  BOOST_TEST(shape.node.receive_bytes_per_s == 5e4);
  BOOST_TEST(shape.node.send_bytes_per_s == 1e6);
  BOOST_TEST(shape.node.link_delay_s == 0.1);
  ShapeChange way;
  way.node = "s0";
  way.to = "s1";
  way.bytes_per_s = 7e4;
  apply(way, "s0", shape);
  BOOST_TEST(link_shape(shape, "s0", "s1").send_bytes_per_s == 7e4);
  BOOST_TEST(link_shape(shape, "s1", "s0").send_bytes_per_s == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(Rates)

BOOST_AUTO_TEST_CASE(a_rate_is_exact_over_a_long_time_and_its_burst_is_bounded) {
  for (const double rate : {5e3, 1e5, 3e6, 12.5e6, 125e6}) {
    SendLimit limit(rate);
    double sent = 0;
    const auto chunk = static_cast<double>(limit.chunk_bytes(256 << 10));
    for (auto now = kStart; now <= kStart + 100s; now += 20ms) {
      const double allowed = rate * (SendLimit::kBurst_s + seconds(now - kStart)) + chunk;
      while (limit.may_send(now)) {
        limit.sent(static_cast<size_t>(chunk));
        sent += chunk;
      }
      BOOST_REQUIRE_LE(sent, allowed);
    }
    BOOST_TEST(sent / 100 == rate, boost::test_tools::tolerance(0.005));
  }
}

BOOST_AUTO_TEST_CASE(a_rate_that_falls_leaves_no_debt_of_the_old_one) {
  SendLimit limit(1e8);
  BOOST_TEST(limit.may_send(kStart));
  limit.sent(100'000'000);
  limit.set_rate(1e5, kStart);
  BOOST_TEST(!limit.may_send(kStart + 99ms));
  BOOST_TEST(limit.may_send(kStart + 101ms));
  limit.set_rate(0, kStart + 101ms);
  BOOST_TEST(limit.may_send(kStart + 101ms));
  limit.set_rate(1e5, kStart + 1h);
  limit.sent(10'001);  // all that a new limit begins with
  BOOST_TEST(!limit.may_send(kStart + 1h));
}

BOOST_AUTO_TEST_CASE(a_link_that_its_own_rate_holds_back_takes_nobodys_turn) {
  SendTurns turns(1e6);
  turns.set_rate(kA, 1e4, kStart);
  std::map<ConnId, size_t> sent;
  auto send = [&](ConnId conn, TimePoint now) {
    while (turns.may_send(conn, now)) {
      const size_t bytes = turns.chunk_bytes(conn, 256 << 10);
      turns.sent(conn, bytes);
      sent[conn] += bytes;
    }
  };
  auto traffic = [](ConnId) { return TrafficClass::kState; };
  for (const ConnId conn : {kA, kB}) send(conn, kStart);
  for (auto now = kStart; now <= kStart + 10s; now += 20ms)
    turns.serve(now, traffic, [&](ConnId conn) { send(conn, now); });
  BOOST_TEST(static_cast<double>(sent[kA]) == 1e5, boost::test_tools::tolerance(0.05));
  BOOST_TEST(static_cast<double>(sent[kB]) == 9.9e6, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(without_a_rate_of_the_node_a_links_own_rate_holds_all_the_same) {
  SendTurns turns(0);
  turns.set_rate(kA, 1e4, kStart);
  BOOST_TEST(turns.limited());
  BOOST_TEST(turns.chunk_bytes(kA, 256 << 10) == 1024u);
  BOOST_TEST(turns.chunk_bytes(kB, 256 << 10) == 256u << 10);
  BOOST_TEST(turns.may_send(kA, kStart));
  turns.sent(kA, 2'000);
  BOOST_TEST(!turns.may_send(kA, kStart));
  BOOST_TEST(turns.may_send(kB, kStart));
  int woken = 0;
  turns.serve(
      kStart + 50ms, [](ConnId) { return TrafficClass::kControl; }, [&](ConnId) { ++woken; });
  BOOST_TEST(woken == 0);
  turns.set_rate(kA, 0, kStart + 60ms);  // it may go on at once
  turns.serve(
      kStart + 60ms, [](ConnId) { return TrafficClass::kControl; }, [&](ConnId) { ++woken; });
  BOOST_TEST(woken == 1);
  BOOST_TEST(!turns.limited());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(Delays)

BOOST_AUTO_TEST_CASE(each_read_waits_for_its_delay_exactly) {
  Inlet inlet(1);
  inlet.shape(kA, delayed(0.05), false);
  BOOST_TEST(push(inlet, kA, "x", kStart));
  BOOST_TEST(push(inlet, kA, "y", kStart + 10ms));
  BOOST_TEST((inlet.next_due() == kStart + 50ms));
  BOOST_TEST(take_all(inlet, kStart + 49ms) == "");
  BOOST_TEST(take_all(inlet, kStart + 50ms) == "x");
  BOOST_TEST(take_all(inlet, kStart + 60ms) == "y");
  BOOST_TEST(!inlet.next_due());
}

BOOST_AUTO_TEST_CASE(jitter_never_changes_the_order_and_stays_within_its_bounds) {
  Inlet inlet(7);
  inlet.shape(kA, delayed(0.05, 0.03), false);
  std::string sent, taken;
  TimePoint now = kStart, last = kStart;
  for (int i = 0; i < 200; ++i, now += 1ms) {
    sent += static_cast<char>('a' + i % 26);
    push(inlet, kA, sent.substr(sent.size() - 1), now);
  }
  for (now = kStart; now <= kStart + 300ms; now += 1ms) {
    const std::string due = take_all(inlet, now);
    if (!due.empty()) last = now;
    taken += due;
    const auto since = (now - kStart) / 1ms;
    BOOST_REQUIRE_LE(static_cast<int64_t>(taken.size()), std::max<int64_t>(0, since - 49));
    BOOST_REQUIRE_GE(static_cast<int64_t>(taken.size()),
                     std::min<int64_t>(200, std::max<int64_t>(0, since - 80)));
  }
  BOOST_TEST(taken == sent);
  BOOST_TEST((last > kStart + 249ms));
}

BOOST_AUTO_TEST_CASE(a_shorter_delay_lets_nothing_pass_what_came_before) {
  Inlet inlet(1);
  inlet.shape(kA, delayed(0.2), false);
  push(inlet, kA, "x", kStart);
  inlet.shape(kA, delayed(0), false);
  BOOST_TEST(push(inlet, kA, "y", kStart + 10ms));
  BOOST_TEST(take_all(inlet, kStart + 199ms) == "");
  BOOST_TEST(take_all(inlet, kStart + 200ms) == "xy");
  BOOST_TEST(!push(inlet, kA, "z", kStart + 201ms));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_connection_comes_after_its_last_bytes) {
  Inlet inlet(1);
  inlet.shape(kA, delayed(0.05), false);
  push(inlet, kA, "x", kStart);
  BOOST_TEST(inlet.end(kA, {ErrorCode::kLinkLost, "closed", 0}, kStart + 1ms));
  BOOST_TEST(push(inlet, kA, "late", kStart + 2ms));
  BOOST_TEST(take_all(inlet, kStart + 50ms) == "x");
  BOOST_TEST(take_all(inlet, kStart + 51ms) == ".");
  inlet.forget(kA);
  BOOST_TEST(!inlet.next_due());
  inlet.shape(kB, delayed(0), false);
  BOOST_TEST(!inlet.end(kB, {ErrorCode::kLinkLost, "closed", 0}, kStart));
}

BOOST_AUTO_TEST_CASE(a_full_line_stops_reading_and_a_strangers_is_full_soon) {
  Inlet inlet(1);
  inlet.shape(kA, delayed(0.2), true);
  const std::string piece(1'000, 'x');
  uint64_t read = 0;
  for (; inlet.may_read(kA) && read < 10'000'000; read += piece.size())
    push(inlet, kA, piece, kStart);
  BOOST_TEST(read <= DelayLine::kStrangersBytes + piece.size());
  BOOST_TEST(read > DelayLine::kStrangersBytes / 2);
  inlet.shape(kA, delayed(0.2, 0, 10e6), false);
  for (; inlet.may_read(kA) && read < 10'000'000; read += piece.size())
    push(inlet, kA, piece, kStart);
  BOOST_TEST(read > 2'000'000u);  // rate * delay
  BOOST_TEST(read < 4'000'000u);
  take_all(inlet, kStart + 200ms);
  BOOST_TEST(inlet.may_read(kA));
}

BOOST_AUTO_TEST_CASE(many_small_reads_fill_a_line_too) {
  Inlet inlet(1);
  inlet.shape(kA, delayed(0.2), true);
  int reads = 0;
  for (; inlet.may_read(kA) && reads < 100'000; ++reads) push(inlet, kA, "x", kStart);
  BOOST_TEST(reads < 1'000);
}

/// A sender that keeps the socket full, a receiver that reads when it may: the delay must not show
/// in the rate, whatever the size of a read.
BOOST_AUTO_TEST_CASE(propagation_costs_no_throughput) {
  for (const double delay_s : {0.05, 0.2})
    for (const double rate : {1e6, 25e6})
      for (const size_t read_bytes : {size_t{1448}, size_t{16} << 10, size_t{256} << 10}) {
        Inlet inlet(1);
        inlet.shape(kA, delayed(delay_s, 0, rate), false);
        const std::string bytes(read_bytes, 'x');
        double arrived = 0, out = 0;
        for (auto now = kStart; now < kStart + 3s; now += 1ms) {
          const double until_now = rate * seconds(now - kStart);
          while (arrived < until_now && inlet.may_read(kA)) {
            push(inlet, kA, bytes, now);
            arrived += static_cast<double>(read_bytes);
          }
          out += static_cast<double>(take_all(inlet, now).size());
        }
        BOOST_TEST(out >= 0.97 * rate * (3 - delay_s) - static_cast<double>(read_bytes));
      }
}

BOOST_AUTO_TEST_CASE(the_bound_of_a_line_covers_rate_times_delay_and_has_an_end) {
  BOOST_TEST(DelayLine::bound_bytes(1e6, 0.2) >= 200'000u);
  BOOST_TEST(DelayLine::bound_bytes(0, 0.2) >= 25'000'000u);
  BOOST_TEST(DelayLine::bound_bytes(1e12, 10) == 256u << 20);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ReceiveRates)

/// Both sides always have something to say; the node reads at its rate and in turns.
BOOST_AUTO_TEST_CASE(a_node_reads_at_its_rate_and_each_connection_in_its_turn) {
  for (const double rate : {2e4, 1e6, 2e7}) {
    Inlet inlet(1);
    inlet.set_rate(rate, kStart);
    std::map<ConnId, double> read;
    for (const ConnId conn : {kA, kB}) inlet.shape(conn, {}, false);
    const std::string bytes(inlet.read_bytes(256 << 10), 'x');
    for (auto now = kStart; now < kStart + 60s; now += 20ms) {
      static_cast<void>(inlet.next_turns(now));
      static_cast<void>(take_all(inlet, now));
      while (inlet.may_read(kA) || inlet.may_read(kB)) {
        for (const ConnId conn : {kA, kB}) {
          if (!inlet.may_read(conn)) continue;
          push(inlet, conn, bytes, now);
          read[conn] += static_cast<double>(bytes.size());
        }
      }
    }
    BOOST_TEST((read[kA] + read[kB]) / 60 == rate, boost::test_tools::tolerance(0.05));
    BOOST_TEST(read[kA] == read[kB], boost::test_tools::tolerance(0.05));
  }
}

// A socket gives about a megabyte before it can be stopped; all of it was there at once.
BOOST_AUTO_TEST_CASE(what_was_read_beyond_the_rate_comes_when_the_rate_lets_it) {
  Inlet inlet(1);
  inlet.set_rate(1e6, kStart);
  inlet.shape(kA, {}, false);
  const std::string chunk(50'000, 'x');
  size_t passed = 0;
  for (int i = 0; i < 20; ++i) passed += push(inlet, kA, chunk, kStart) ? 0 : chunk.size();
  const size_t at_once = 100'000 + chunk.size();  // what was saved up, and a chunk
  BOOST_TEST(passed <= at_once);
  for (int ms = 10; ms <= 1'000; ms += 10) {
    passed += take_all(inlet, kStart + std::chrono::milliseconds(ms)).size();
    BOOST_REQUIRE_LE(passed, at_once + static_cast<size_t>(ms) * 1'000);
    BOOST_REQUIRE_GE(passed + 2 * chunk.size(), static_cast<size_t>(ms) * 1'000);
  }
  BOOST_TEST(passed == 1'000'000u);
}

BOOST_AUTO_TEST_CASE(a_quiet_connection_is_read_at_once_beside_a_busy_one) {
  Inlet inlet(1);
  inlet.set_rate(1e5, kStart);
  for (const ConnId conn : {kA, kB}) inlet.shape(conn, {}, false);
  push(inlet, kA, std::string(50'000, 'x'), kStart);
  BOOST_TEST(!inlet.may_read(kA));
  BOOST_TEST(inlet.may_read(kB));
  BOOST_TEST(inlet.next_turns(kStart + 300ms).empty());
  BOOST_TEST((inlet.next_turns(kStart + 420ms) == std::vector<ConnId>{kA}));
  BOOST_TEST(inlet.may_read(kA));
}

BOOST_AUTO_TEST_CASE(who_waits_goes_on_when_the_rate_is_taken_away) {
  Inlet inlet(1);
  inlet.set_rate(1e4, kStart);
  inlet.shape(kA, {}, false);
  push(inlet, kA, std::string(50'000, 'x'), kStart);
  BOOST_TEST(inlet.next_turns(kStart + 1s).empty());
  inlet.set_rate(0, kStart + 1s);
  BOOST_TEST((inlet.next_turns(kStart + 1s) == std::vector<ConnId>{kA}));
}

BOOST_AUTO_TEST_CASE(an_owner_that_takes_nothing_stops_reading_once_the_line_is_full) {
  Inlet inlet(1);
  inlet.shape(kA, {}, false);
  inlet.hold(kA, true);
  BOOST_TEST(!inlet.may_read(kA));
  inlet.hold(kA, false);
  BOOST_TEST(inlet.may_read(kA));
  inlet.shape(kB, delayed(0.01, 0, 1e5), false);
  push(inlet, kB, std::string(1'000, 'x'), kStart);
  inlet.hold(kB, true);
  BOOST_TEST(inlet.may_read(kB));
  BOOST_TEST(take_all(inlet, kStart + 1s) == "");
  BOOST_TEST(!inlet.next_due());  // nobody is woken for nothing
  push(inlet, kB, std::string(200'000, 'x'), kStart);
  BOOST_TEST(!inlet.may_read(kB));
  inlet.hold(kB, false);
  BOOST_TEST(take_all(inlet, kStart + 1s).size() == 201'000u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(LinkShapers)

BOOST_AUTO_TEST_CASE(paths_count_once_the_name_is_known_and_after_each_change) {
  ShapeOptions shape;
  shape.node.link_delay_s = 0.1;
  shape.paths = {path("a", "b", 1e5), path("b", "a", {}, 0.2)};
  LinkShaper shaper("a", shape, 1);
  shaper.opened(kA, kStart);
  BOOST_TEST(shaper.turns().chunk_bytes(kA, 1 << 20) == 1u << 20);
  shaper.inlet().push(kA, "x", 1, kStart);
  BOOST_TEST((shaper.inlet().next_due() == kStart + 100ms));
  shaper.inlet().take(kStart + 1s);
  BOOST_TEST(shaper.tick_every().count() == 50);
  shaper.named(kA, "b", kStart);
  BOOST_TEST(shaper.turns().chunk_bytes(kA, 1 << 20) == 5'000u);
  shaper.inlet().push(kA, "x", 1, kStart);
  BOOST_TEST((shaper.inlet().next_due() == kStart + 300ms));
  shaper.inlet().take(kStart + 1s);
  BOOST_TEST(shaper.tick_every().count() == 20);
  shape.paths.push_back(path("*", "*", 2e5, 0.0));
  shaper.reshape(shape, kStart + 1s);
  BOOST_TEST(shaper.turns().chunk_bytes(kA, 1 << 20) == 10'000u);
  shaper.inlet().push(kA, "x", 1, kStart + 1s);
  BOOST_TEST((shaper.inlet().next_due() == kStart + 1'100ms));
  shaper.forget(kA);
  BOOST_TEST(!shaper.inlet().next_due());
  BOOST_TEST(shaper.turns().chunk_bytes(kA, 1 << 20) == 1u << 20);
}

BOOST_AUTO_TEST_SUITE_END()
