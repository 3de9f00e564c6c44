/// Links that are made slow and late, in virtual time: real frames and sessions between the Links
/// actors of several nodes.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include "actors/net/errors.h"
#include "apps/sim/deterministic_system.h"
#include "tests/support/memory_network.h"

using namespace swarm;
using namespace swarm::actors;
using namespace std::chrono_literals;

namespace {

using Duration = std::chrono::steady_clock::duration;

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

Mail mail_of(size_t bytes, uint64_t sequence = 0) {
  proto::Echo echo;
  echo.set_sequence(sequence);
  return make_mail(echo, Buffer::from_string(std::string(bytes, 'x')), 120s);
}

/// Nodes named node1, node2, ... whose actor "sink" answers each mail without its body.
struct Swarm {
  struct Node {
    LinksOptions options;
    caf::actor links;
    std::shared_ptr<std::vector<uint64_t>> seen;  // sequences that arrived; shared with the sink
    std::shared_ptr<std::vector<std::string>> lost;
  };

  Swarm() { network.set_window(64 << 10); }

  Node start(uint8_t number, const ShapeOptions& shape = {}) {
    Node node;
    node.options.node_id.bytes[0] = number;
    node.options.node_name = "node" + std::to_string(number);
    node.options.run_id = "run";
    node.options.listen = {node.options.node_name, 1};
    node.options.shape = shape;
    node.links = system.own(spawn_memory_links(*system, node.options, network));
    node.seen = std::make_shared<std::vector<uint64_t>>();
    node.lost = std::make_shared<std::vector<std::string>>();
    auto sink = [seen = node.seen](caf::event_based_actor*) -> caf::behavior {
      return {[seen](const Mail& mail) {
        seen->push_back(mail.as<proto::Echo>().sequence());
        return mail_of(0);
      }};
    };
    auto listener = [lost = node.lost](caf::event_based_actor*) -> caf::behavior {
      return {[](node_up_atom, const NodeInfo&) {},
              [lost](node_down_atom, const NodeInfo& gone, const std::string&) {
                lost->push_back(gone.name);
              }};
    };
    caf::anon_send(node.links, register_atom::value, std::string("sink"),
                   system.own(system->spawn(sink)));
    caf::anon_send(node.links, subscribe_atom::value, system.own(system->spawn(listener)));
    system.run();
    return node;
  }

  caf::actor sink_of(const Node& to, const Node& from) {
    caf::actor result;
    caf::scoped_actor self(*system);
    auto request = self->request(from.links, caf::infinite, resolve_atom::value,
                                 ActorId{to.options.node_id, "sink"}, to.options.listen);
    system.run();
    request.receive([&](const caf::actor& proxy) { result = proxy; }, [](const caf::error&) {});
    return result;
  }

  /// When each answer came, or nothing yet; sends now.
  struct Answer {
    bool here = false, failed = false;
    Duration after{};
  };
  std::shared_ptr<Answer> ask(const caf::actor& to, const Mail& mail) {
    auto answer = std::make_shared<Answer>();
    const auto begin = system.now();
    auto done = [this, answer, begin](bool failed) {
      *answer = {true, failed, system.now() - begin};
    };
    system.own(system->spawn([=](caf::event_based_actor* self) {
      self->request(to, caf::infinite, mail)
          .then([done](const Mail&) { done(false); }, [done](const caf::error&) { done(true); });
    }));
    system.run();
    return answer;
  }

  /// Seconds from now until `mail` was answered, once a first small one has made the link.
  double seconds_of(const Node& from, const Node& to, const Mail& mail) {
    const auto sink = sink_of(to, from);
    const auto first = ask(sink, mail_of(0));
    BOOST_REQUIRE(system.advance_until([&] { return first->here; }, 30s));
    const auto answer = ask(sink, mail);
    BOOST_REQUIRE(system.advance_until([&] { return answer->here; }, 100s));
    BOOST_REQUIRE(!answer->failed);
    return seconds(answer->after);
  }

  void reshape(const Node& node, const ShapeOptions& shape) {
    caf::anon_send(node.links, shape_atom::value, shape);
    system.run();
  }

  MemoryNetwork network;
  sim::DeterministicSystem system;
};

ShapeOptions own(double send, double receive, double delay_s, double jitter_s = 0) {
  return {{send, receive, delay_s, jitter_s}, {}};
}

ShapeOptions paths(std::vector<PathShape> rows) { return {{}, std::move(rows)}; }

/// `name` from all others.
ShapeOptions cut_off(const std::string& name) { return paths({{name, "*", {}, {}, {}, true}}); }

const auto kTenth = boost::test_tools::tolerance(0.1);

}  // namespace

BOOST_AUTO_TEST_SUITE(ShapedLinks)

BOOST_AUTO_TEST_CASE(a_delay_of_50_or_200_ms_is_what_a_round_trip_takes_longer) {
  for (const double delay_s : {0.05, 0.2}) {
    Swarm swarm;
    auto a = swarm.start(1), b = swarm.start(2, own(0, 0, delay_s));
    BOOST_TEST(swarm.seconds_of(a, b, mail_of(0)) == delay_s, kTenth);
    auto c = swarm.start(3, own(0, 0, delay_s));
    BOOST_TEST(swarm.seconds_of(b, c, mail_of(0)) == 2 * delay_s, kTenth);  // each way once
  }
}

BOOST_AUTO_TEST_CASE(a_path_is_directed_and_delays_its_pair_only) {
  Swarm swarm;
  const auto rows = paths({{"node1", "node2", {}, 0.2, {}}, {"node2", "node1", {}, 0.05, {}}});
  auto a = swarm.start(1, rows), b = swarm.start(2, rows), c = swarm.start(3, rows);
  BOOST_TEST(swarm.seconds_of(a, b, mail_of(0)) == 0.25, kTenth);
  BOOST_TEST(swarm.seconds_of(b, a, mail_of(0)) == 0.25, kTenth);
  BOOST_TEST(swarm.seconds_of(a, c, mail_of(0)) < 0.001);
}

BOOST_AUTO_TEST_CASE(a_slow_pair_is_slow_at_its_rate_and_no_other_is) {
  Swarm swarm;
  const auto rows = paths({{"node1", "node2", 1e5, {}, {}}});
  auto a = swarm.start(1, rows), b = swarm.start(2, rows), c = swarm.start(3, rows);
  BOOST_TEST(swarm.seconds_of(a, b, mail_of(1'000'000)) == 10, kTenth);
  BOOST_TEST(swarm.seconds_of(a, c, mail_of(1'000'000)) < 0.1);
  BOOST_TEST(swarm.seconds_of(b, a, mail_of(1'000'000)) < 0.1);
  BOOST_TEST(a.lost->size() + b.lost->size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_slow_pair_leaves_the_nodes_own_rate_to_the_others) {
  Swarm swarm;
  auto shape = own(1e6, 0, 0);
  shape.paths = {{"node1", "node2", 1e5, {}, {}}};
  auto a = swarm.start(1, shape), b = swarm.start(2), c = swarm.start(3);
  const auto slow = swarm.ask(swarm.sink_of(b, a), mail_of(900'000));
  const auto fast = swarm.ask(swarm.sink_of(c, a), mail_of(4'500'000));
  swarm.system.advance(20s);
  BOOST_REQUIRE(slow->here && fast->here);
  BOOST_TEST(seconds(fast->after) == 5, kTenth);  // at 0.9 MB/s
  BOOST_TEST(seconds(slow->after) == 9, kTenth);
}

BOOST_AUTO_TEST_CASE(control_mail_passes_bulk_on_a_slow_pair) {
  Swarm swarm;
  auto a = swarm.start(1, paths({{"node1", "node2", 1e5, {}, {}}})), b = swarm.start(2);
  const auto sink = swarm.sink_of(b, a);
  auto bulk =
      make_mail(proto::StateChunkReply(), Buffer::from_string(std::string(900'000, 'x')), 60s);
  caf::anon_send(sink, bulk);
  swarm.system.advance(2s);
  const auto small = swarm.ask(sink, mail_of(0));
  swarm.system.advance(150ms);  // the chunk under way, a tick, there and back
  BOOST_TEST(small->here);
}

BOOST_AUTO_TEST_CASE(a_node_receives_at_its_rate_and_stays_in_touch) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2, own(0, 1e5, 0)), c = swarm.start(3);
  const auto from_a = swarm.ask(swarm.sink_of(b, a), mail_of(1'000'000));
  const auto from_c = swarm.ask(swarm.sink_of(b, c), mail_of(1'000'000));
  swarm.system.advance(30s);
  BOOST_REQUIRE(from_a->here && from_c->here);
  BOOST_TEST(seconds(std::max(from_a->after, from_c->after)) == 20, kTenth);
  BOOST_TEST(seconds(std::min(from_a->after, from_c->after)) > 18);  // in turns
  BOOST_TEST(a.lost->size() + b.lost->size() + c.lost->size() == 0u);
  BOOST_TEST(swarm.seconds_of(b, a, mail_of(1'000'000)) < 0.2);  // what it sends is not slowed
}

BOOST_AUTO_TEST_CASE(rate_and_delay_together_take_the_sum_not_the_product) {
  for (const double delay_s : {0.05, 0.2}) {
    Swarm swarm;
    const auto rows = paths({{"node1", "node2", 1e6, delay_s, {}}});
    auto a = swarm.start(1, rows), b = swarm.start(2, rows);
    BOOST_TEST(swarm.seconds_of(a, b, mail_of(5'000'000)) == 5 + delay_s, kTenth);
    auto c = swarm.start(3, own(0, 1e6, delay_s));
    BOOST_TEST(swarm.seconds_of(a, c, mail_of(5'000'000)) == 5 + delay_s, kTenth);
  }
}

BOOST_AUTO_TEST_CASE(jitter_keeps_the_order_of_mail) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2, own(0, 0, 0.02, 0.1));
  const auto sink = swarm.sink_of(b, a);
  std::vector<uint64_t> sent;
  for (uint64_t i = 0; i < 100; ++i) {
    sent.push_back(i);
    caf::anon_send(sink, mail_of(10, i));
    swarm.system.advance(3ms);
  }
  swarm.system.advance(1s);
  BOOST_TEST(*b.seen == sent, boost::test_tools::per_element());
}

/// Each node is told of the cut, as RUN/links.toml tells them.
BOOST_AUTO_TEST_CASE(what_is_said_across_a_short_cut_is_heard_when_it_ends) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  const auto to_b = swarm.sink_of(b, a), to_a = swarm.sink_of(a, b);
  const auto first = swarm.ask(to_b, mail_of(0));
  BOOST_REQUIRE(swarm.system.advance_until([&] { return first->here; }, 1s));
  swarm.reshape(a, cut_off("node2"));
  swarm.reshape(b, cut_off("node2"));
  const auto there = swarm.ask(to_b, mail_of(0)), back = swarm.ask(to_a, mail_of(0));
  swarm.system.advance(3s);
  BOOST_TEST(!there->here);
  BOOST_TEST(!back->here);
  swarm.reshape(a, {});
  swarm.reshape(b, {});
  swarm.system.advance(100ms);
  BOOST_TEST((there->here && !there->failed));
  BOOST_TEST((back->here && !back->failed));
  BOOST_TEST(a.lost->size() + b.lost->size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_cut_link_dies_of_silence_and_no_other_can_be_made_until_it_ends) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  const auto sink = swarm.sink_of(b, a);
  const auto first = swarm.ask(sink, mail_of(0));
  BOOST_REQUIRE(swarm.system.advance_until([&] { return first->here; }, 1s));
  swarm.reshape(a, cut_off("node2"));
  swarm.reshape(b, cut_off("node2"));
  swarm.system.advance(a.options.silence_limit / 2);
  BOOST_TEST(a.lost->size() + b.lost->size() == 0u);
  swarm.system.advance(a.options.silence_limit);
  BOOST_TEST(a.lost->size() == 1u);
  BOOST_TEST(b.lost->size() == 1u);
  const auto began = swarm.system.now();
  const auto again = swarm.ask(swarm.sink_of(b, a), mail_of(0));
  BOOST_REQUIRE(swarm.system.advance_until([&] { return again->here; }, 60s));
  BOOST_TEST(again->failed);
  BOOST_TEST((swarm.system.now() - began > a.options.dial_timeout / 2));  // not refused: unheard
  BOOST_TEST(b.seen->size() == 1u);
  BOOST_TEST(a.lost->size() + b.lost->size() == 2u);  // nor did it come up and die again
  swarm.reshape(a, {});
  swarm.reshape(b, {});
  swarm.system.advance(a.options.max_backoff);
  const auto healed = swarm.ask(swarm.sink_of(b, a), mail_of(0));
  BOOST_REQUIRE(swarm.system.advance_until([&] { return healed->here; }, 10s));
  BOOST_TEST(!healed->failed);
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_a_death_arrives_before_its_news) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2, own(0, 0, 0.2));
  const auto sink = swarm.sink_of(b, a);
  caf::anon_send(sink, mail_of(10, 1));
  swarm.system.advance(1s);
  caf::anon_send(sink, mail_of(10, 2));
  swarm.system.advance(10ms);
  swarm.network.kill(a.options.node_id);
  swarm.system.advance(150ms);
  BOOST_TEST(b.seen->size() == 1u);
  BOOST_TEST(b.lost->empty());
  swarm.system.advance(60ms);
  BOOST_TEST(b.seen->size() == 2u);
  BOOST_TEST(b.lost->size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_shape_changes_while_mail_is_under_way) {
  Swarm swarm;
  auto a = swarm.start(1, own(1e5, 0, 0)), b = swarm.start(2);
  const auto sink = swarm.sink_of(b, a);
  const auto bulk = swarm.ask(sink, mail_of(3'000'000));
  swarm.system.advance(10s);
  BOOST_TEST(!bulk->here);
  swarm.reshape(a, own(1e6, 0, 0));
  swarm.system.advance(10s);
  BOOST_REQUIRE(bulk->here);
  BOOST_TEST(seconds(bulk->after) == 12, kTenth);
  swarm.reshape(b, own(0, 0, 0.2));
  BOOST_TEST(swarm.seconds_of(a, b, mail_of(0)) == 0.2, kTenth);
  swarm.reshape(a, {});
  swarm.reshape(b, {});
  BOOST_TEST(swarm.seconds_of(a, b, mail_of(1'000'000)) < 0.1);
}

/// The line of a delayed link is no way round the receive budget: what nobody has room for stays
/// where it is, and the sender is held back.
BOOST_AUTO_TEST_CASE(a_delayed_link_whose_node_has_no_room_stops_reading) {
  Swarm swarm;
  auto shape = own(0, 0, 0.05);
  shape.paths = {{"*", "*", 1e6, {}, {}}};
  auto a = swarm.start(1);
  Swarm::Node full = swarm.start(2);
  full.options.node_id.bytes[0] = 3;
  full.options.node_name = "full";
  full.options.listen = {"full", 1};
  full.options.shape = shape;
  full.options.receive_budget_bytes = 1 << 20;
  full.links = swarm.system.own(spawn_memory_links(*swarm.system, full.options, swarm.network));
  auto kept = std::make_shared<std::vector<Mail>>();  // shared with the actor that lets nothing go
  auto keeper = [kept](caf::event_based_actor*) -> caf::behavior {
    return {[kept](const Mail& mail) { kept->push_back(mail); }};
  };
  caf::anon_send(full.links, register_atom::value, std::string("sink"),
                 swarm.system.own(swarm.system->spawn(keeper)));
  swarm.system.run();
  const auto sink = swarm.sink_of(full, a);
  for (int i = 0; i < 8; ++i) caf::anon_send(sink, mail_of(600'000));
  // One is kept, and one that was begun while there was room passes the limit: else those that have
  // begun could wait for one another.
  swarm.system.advance(20s);
  for (int left = 8; left > 0; left -= 2) {
    BOOST_TEST(kept->size() == 2u);
    kept->clear();
    swarm.system.advance(1s);
  }
  BOOST_TEST(kept->empty());
}

BOOST_AUTO_TEST_SUITE_END()
