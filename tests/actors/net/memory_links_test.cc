/// Links actors of several nodes in one actor system, in virtual time.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/actor_registry.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include "actors/net/errors.h"
#include "actors/net/links/send_limit.h"
#include "apps/sim/deterministic_system.h"
#include "tests/support/memory_network.h"

using namespace swarm;
using namespace swarm::actors;
using namespace std::chrono_literals;

namespace {

NodeId node_id(uint8_t number) {
  NodeId id;
  id.bytes[0] = number;
  return id;
}

Mail echo_mail(uint64_t sequence, std::chrono::milliseconds budget = 10s, Buffer body = {}) {
  proto::Echo echo;
  echo.set_sequence(sequence);
  return make_mail(echo, std::move(body), budget);
}

/// What a test has seen; written by actors, which run on the test's own thread.
struct Seen {
  std::vector<uint64_t> mail;
  std::vector<std::string> nodes;
};

struct Swarm {
  Swarm() { network.set_delay(5ms); }

  struct Node {
    NodeId id;
    Endpoint endpoint;
    caf::actor links;
    std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  };

  LinksOptions options(uint8_t number) {
    LinksOptions options;
    options.node_id = node_id(number);
    options.node_name = "node" + std::to_string(number);
    options.run_id = "run";
    options.listen = {options.node_name, 1};
    return options;
  }

  Node start(uint8_t number) { return start(options(number)); }
  Node start(const LinksOptions& options) {
    Node node{options.node_id, options.listen, {}};
    node.links = system.own(spawn_memory_links(*system, options, network));
    auto seen = node.seen;
    auto add = [&](const char* name, caf::actor actor) {
      caf::anon_send(node.links, register_atom::value, std::string(name), system.own(actor));
    };
    add("echo", system->spawn([seen](caf::event_based_actor*) -> caf::behavior {
      return {[seen](const Mail& mail) {
        seen->mail.push_back(mail.as<proto::Echo>().sequence());
        return mail;
      }};
    }));
    add("silent", system->spawn([](caf::event_based_actor* self) -> caf::behavior {
      auto held = std::make_shared<std::vector<caf::response_promise>>();
      return {[self, held](const Mail&) { held->push_back(self->make_response_promise()); }};
    }));
    add("thrower", system->spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](const Mail&) -> caf::result<Mail> { throw std::runtime_error("on purpose"); }};
    }));
    auto listener = system.own(system->spawn([seen](caf::event_based_actor*) -> caf::behavior {
      return {
          [seen](node_up_atom, const NodeInfo& node) { seen->nodes.push_back("+" + node.name); },
          [seen](node_down_atom, const NodeInfo& node, const std::string&) {
            seen->nodes.push_back("-" + node.name);
          }};
    }));
    caf::anon_send(node.links, subscribe_atom::value, listener);
    system.run();
    return node;
  }

  caf::actor resolve(const Node& from, const Node& to, const std::string& actor) {
    caf::actor result;
    caf::scoped_actor self(*system);
    auto request = self->request(from.links, caf::infinite, resolve_atom::value,
                                 ActorId{to.id, actor}, to.endpoint);
    system.run();
    request.receive([&](const caf::actor& proxy) { result = proxy; }, [](const caf::error&) {});
    return result;
  }

  /// Sends now; the answer appears as time advances.
  struct Answer {
    bool here = false;
    Error error{ErrorCode::kNone, "", 0};
    Mail mail;
  };
  std::shared_ptr<Answer> ask(const caf::actor& to, Mail mail) {
    auto answer = std::make_shared<Answer>();
    system.own(system->spawn([answer, to, mail](caf::event_based_actor* self) {
      self->request(to, caf::infinite, mail)
          .then(
              [answer](const Mail& reply) {
                answer->here = true;
                answer->mail = reply;
              },
              [answer](const caf::error& error) {
                answer->here = true;
                answer->error = from_caf(error);
              });
    }));
    system.run();
    return answer;
  }

  MemoryNetwork network;
  sim::DeterministicSystem system;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(MemoryLinks)

BOOST_AUTO_TEST_CASE(a_request_dials_and_is_answered) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto answer = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(7));
  swarm.system.advance(19ms);
  BOOST_TEST(!answer->here);  // hello there and back, request there and back: 20 ms
  swarm.system.advance(2ms);
  BOOST_REQUIRE(answer->here);
  BOOST_TEST(answer->mail.as<proto::Echo>().sequence() == 7u);
  BOOST_TEST(a.seen->nodes == std::vector<std::string>{"+node2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_way_mail_arrives_in_order) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto remote = swarm.resolve(a, b, "echo");
  for (uint64_t i = 0; i < 5; ++i) caf::anon_send(remote, echo_mail(i));
  swarm.system.advance(100ms);
  BOOST_TEST(b.seen->mail == (std::vector<uint64_t>{0, 1, 2, 3, 4}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_silent_actor_costs_the_budget_and_no_more) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto answer = swarm.ask(swarm.resolve(a, b, "silent"), echo_mail(1, 300ms));
  swarm.system.advance(290ms);
  BOOST_TEST(!answer->here);
  swarm.system.advance(40ms);
  BOOST_TEST((answer->error.code == ErrorCode::kPeerTimeout));
}

BOOST_AUTO_TEST_CASE(a_cut_fails_requests_at_once) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto remote = swarm.resolve(a, b, "silent");
  auto answer = swarm.ask(remote, echo_mail(1));
  swarm.system.advance(100ms);
  swarm.network.cut(a.id, b.id);
  swarm.system.run();
  BOOST_TEST((answer->error.code == ErrorCode::kLinkLost));
  BOOST_TEST(b.seen->nodes == (std::vector<std::string>{"+node1", "-node1"}),
             boost::test_tools::per_element());
  auto later = swarm.ask(remote, echo_mail(2));  // not dialled again until resolved anew
  BOOST_TEST((later->error.code == ErrorCode::kLinkLost));
  swarm.network.heal(a.id, b.id);
  auto again = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(3));
  swarm.system.advance(100ms);
  BOOST_TEST(again->here);
  BOOST_TEST((again->error.code == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_pulled_cable_is_noticed_after_the_silence_limit) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto answer = swarm.ask(swarm.resolve(a, b, "silent"), echo_mail(1, 60s));
  swarm.system.advance(100ms);
  swarm.network.drop(a.id, b.id);
  swarm.system.advance(4500ms);
  BOOST_TEST(!answer->here);
  swarm.system.advance(1s);
  BOOST_TEST((answer->error.code == ErrorCode::kLinkLost));
}

BOOST_AUTO_TEST_CASE(a_quiet_link_stays_up) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto answer = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(1));
  swarm.system.advance(60s);
  BOOST_TEST(answer->here);
  BOOST_TEST(a.seen->nodes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(dialling_both_ways_loses_no_mail_and_leaves_one_link) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto to_b = swarm.resolve(a, b, "echo"), to_a = swarm.resolve(b, a, "echo");
  std::vector<std::shared_ptr<Swarm::Answer>> answers;
  for (uint64_t i = 0; i < 20; ++i) {
    answers.push_back(swarm.ask(to_b, echo_mail(i)));
    answers.push_back(swarm.ask(to_a, echo_mail(i)));
    swarm.system.advance(1ms);
  }
  swarm.system.advance(10s);
  for (const auto& answer : answers) BOOST_TEST((answer->error.code == ErrorCode::kNone));
  for (const auto& node : {a, b}) {
    caf::scoped_actor self(*swarm.system);
    auto request = self->request(node.links, caf::infinite, stats_atom::value);
    swarm.system.run();
    request.receive([&](const LinksStats& stats) { BOOST_TEST(stats.links.size() == 1u); },
                    [](const caf::error&) { BOOST_FAIL("no stats"); });
    BOOST_TEST(node.seen->nodes.size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(another_run_or_other_settings_are_refused) {
  Swarm swarm;
  auto a = swarm.start(1);
  auto other_run = swarm.options(2);
  other_run.run_id = "other";
  auto other_settings = swarm.options(3);
  other_settings.config_fingerprint = "f00";
  for (const auto& options : {other_run, other_settings}) {
    auto b = swarm.start(options);
    auto answer = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(1));
    swarm.system.advance(100ms);
    BOOST_TEST((answer->error.code == ErrorCode::kRefused));
  }
}

BOOST_AUTO_TEST_CASE(a_tool_of_another_run_may_ask) {
  Swarm swarm;
  auto a = swarm.start(1);
  auto tool = swarm.options(2);
  tool.run_id = "";
  tool.is_tool = true;
  tool.listen = {"", 0};
  auto b = swarm.start(tool);
  auto answer = swarm.ask(swarm.resolve(b, a, "echo"), echo_mail(1));
  swarm.system.advance(100ms);
  BOOST_TEST((answer->error.code == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_successor_at_the_same_address_gets_no_mail_of_the_dead) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto first = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(1));
  swarm.system.advance(100ms);
  swarm.network.kill(b.id);
  swarm.system.advance(100ms);
  auto successor = swarm.options(3);
  successor.listen = b.endpoint;
  auto c = swarm.start(successor);
  auto answer = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(2));
  swarm.system.advance(100ms);
  BOOST_TEST((answer->error.code == ErrorCode::kLinkLost));
  BOOST_TEST(c.seen->mail.empty());
  auto held = swarm.ask(swarm.resolve(a, c, "silent"), echo_mail(3, 60s));
  auto stale = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(4));  // an old record once more
  swarm.system.advance(5s);
  BOOST_TEST((stale->error.code == ErrorCode::kLinkLost));
  BOOST_TEST(!held->here);  // the successor's link is not disturbed
  BOOST_TEST(c.seen->mail.empty());
}

BOOST_AUTO_TEST_CASE(ids_that_were_named_once_and_are_never_used_are_forgotten) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto linked = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(1));
  const auto held_id = NodeId::random();
  Swarm::Node unreachable;
  unreachable.id = held_id;
  unreachable.endpoint = {"nobody", 9};
  auto held = swarm.resolve(a, unreachable, "echo");
  const auto actors_before = swarm.system->registry().running();
  for (int i = 0; i < 10'000; ++i)
    caf::anon_send(a.links, resolve_atom::value, ActorId{NodeId::random(), "echo"},
                   Endpoint{"nobody", static_cast<uint16_t>(1 + i % 1'000)});
  swarm.system.run();
  BOOST_TEST(swarm.system->registry().running() >= actors_before + 10'000);
  swarm.system.advance(2min);
  BOOST_TEST(swarm.system->registry().running() < actors_before + 10);
  BOOST_TEST(linked->here);
  auto again = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(2));  // the linked one is known
  swarm.system.advance(100ms);
  BOOST_TEST((again->here && again->error.code == ErrorCode::kNone));
  // So is one whose proxy somebody holds: it is dialled as before.
  auto options = swarm.options(3);
  options.node_id = held_id;
  options.listen = unreachable.endpoint;
  auto late = swarm.start(options);
  auto answer = swarm.ask(held, echo_mail(3));
  swarm.system.advance(100ms);
  BOOST_TEST((answer->here && answer->error.code == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_answered_requests_however_long_they_might_have_waited) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  const auto echo = swarm.resolve(a, b, "echo");
  swarm.ask(echo, echo_mail(0));
  swarm.system.advance(100ms);
  const auto timeouts = [&] { return swarm.system.scheduler().clock().schedule().size(); };
  const size_t before = timeouts();
  for (uint64_t i = 1; i <= 1'000; ++i) swarm.ask(echo, echo_mail(i, 24h));
  swarm.system.advance(100ms);
  BOOST_TEST(b.seen->mail.size() == 1'001u);
  BOOST_TEST(timeouts() < before + 100);
}

BOOST_AUTO_TEST_CASE(an_exception_in_a_handler_is_reported_and_the_link_lives) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  auto answer = swarm.ask(swarm.resolve(a, b, "thrower"), echo_mail(1));
  swarm.system.advance(100ms);
  BOOST_TEST((answer->error.code == ErrorCode::kInternal));
  auto next = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(2));
  swarm.system.advance(100ms);
  BOOST_TEST((next->error.code == ErrorCode::kNone));
}

BOOST_AUTO_TEST_CASE(large_mail_crosses_in_chunks) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  std::string bytes(1'000'003, 'x');
  bytes.back() = 'y';
  auto answer =
      swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(1, 10s, Buffer::from_string(bytes)));
  swarm.system.advance(100ms);
  BOOST_TEST((answer->mail.body.view() == bytes));
}

BOOST_AUTO_TEST_CASE(a_capped_node_sends_at_its_rate_and_stays_in_touch) {
  Swarm swarm;
  auto slow = swarm.options(1);
  slow.shape.node.send_bytes_per_s = 100'000;
  slow.silence_limit = 1s;
  slow.heartbeat_every = 200ms;
  auto fast = swarm.options(2);
  fast.silence_limit = 1s;
  fast.heartbeat_every = 200ms;
  auto a = swarm.start(slow), b = swarm.start(fast);
  auto body = [](size_t size) { return Buffer::from_string(std::string(size, 'x')); };
  auto up = swarm.ask(swarm.resolve(a, b, "echo"), echo_mail(1, 60s, body(1'000'000)));
  swarm.system.advance(9'800ms);
  BOOST_TEST(!up->here);
  swarm.system.advance(500ms);
  BOOST_TEST(up->here);
  BOOST_TEST(b.seen->nodes == (std::vector<std::string>{"+node1"}),
             boost::test_tools::per_element());
  // What it receives is not capped.
  caf::anon_send(swarm.resolve(b, a, "echo"), echo_mail(2, 60s, body(1'000'000)));
  swarm.system.advance(100ms);
  BOOST_TEST(a.seen->mail.size() == 1u);
}

BOOST_AUTO_TEST_CASE(links_of_a_capped_node_share_its_rate_evenly) {
  Swarm swarm;
  auto slow = swarm.options(1);
  slow.shape.node.send_bytes_per_s = 100'000;
  auto a = swarm.start(slow), b = swarm.start(2), c = swarm.start(3);
  auto mail = [] { return echo_mail(1, 60s, Buffer::from_string(std::string(500'000, 'x'))); };
  auto to_b = swarm.ask(swarm.resolve(a, b, "echo"), mail());
  auto to_c = swarm.ask(swarm.resolve(a, c, "echo"), mail());
  swarm.system.advance(9'500ms);
  BOOST_TEST(!to_b->here);
  BOOST_TEST(!to_c->here);
  swarm.system.advance(1s);
  BOOST_TEST(to_b->here);
  BOOST_TEST(to_c->here);
}

/// A chunk of 50 ms for each of eight links in turn would be 400 ms.
BOOST_AUTO_TEST_CASE(control_mail_of_a_capped_node_passes_the_bodies_on_all_its_links) {
  Swarm swarm;
  auto slow = swarm.options(1);
  slow.shape.node.send_bytes_per_s = 100'000;
  auto a = swarm.start(slow);
  std::vector<caf::actor> remotes;
  std::vector<std::shared_ptr<Swarm::Answer>> large, small;
  for (uint8_t i = 2; i < 10; ++i) {
    remotes.push_back(swarm.resolve(a, swarm.start(i), "echo"));
    auto body = Buffer::from_string(std::string(500'000, 'x'));
    large.push_back(swarm.ask(remotes.back(), echo_mail(1, 60s, body)));
  }
  swarm.system.advance(2s);
  for (const auto& remote : remotes) small.push_back(swarm.ask(remote, echo_mail(2)));
  swarm.system.advance(100ms);  // the chunk under way, a tick, there and back
  auto here = [](const auto& answer) { return answer->here; };
  BOOST_TEST(std::count_if(small.begin(), small.end(), here) == 8);
  BOOST_TEST(std::count_if(large.begin(), large.end(), here) == 0);
}

BOOST_AUTO_TEST_CASE(a_link_that_ends_while_it_is_held_back_holds_no_other_back) {
  Swarm swarm;
  auto slow = swarm.options(1);
  slow.shape.node.send_bytes_per_s = 100'000;
  auto a = swarm.start(slow), b = swarm.start(2), c = swarm.start(3);
  auto mail = [](size_t size) {
    return echo_mail(1, 60s, Buffer::from_string(std::string(size, 'x')));
  };
  auto to_b = swarm.ask(swarm.resolve(a, b, "echo"), mail(10'000'000));
  auto to_c = swarm.ask(swarm.resolve(a, c, "echo"), mail(300'000));
  swarm.system.advance(1s);
  swarm.network.cut(a.id, b.id);
  swarm.system.advance(10ms);
  BOOST_TEST((to_b->error.code == ErrorCode::kLinkLost));
  BOOST_TEST(!to_c->here);
  swarm.system.advance(2'700ms);  // about 50 of 300 kB had gone when b's link ended
  BOOST_TEST(to_c->here);
  swarm.network.heal(a.id, b.id);
  auto again = swarm.ask(swarm.resolve(a, b, "echo"), mail(50'000));
  swarm.system.advance(700ms);
  BOOST_TEST((again->here && again->error.code == ErrorCode::kNone));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SendLimits)

BOOST_AUTO_TEST_CASE(a_pause_saves_up_a_tenth_of_a_second_and_a_debt_is_one_chunk_at_most) {
  links::SendLimit limit(100'000);
  auto now = links::SendLimit::TimePoint(1s);
  auto send_all = [&] {
    size_t sent = 0;
    for (; limit.may_send(now); sent += limit.chunk_bytes(1 << 20))
      limit.sent(limit.chunk_bytes(1 << 20));
    return sent;
  };
  BOOST_TEST(limit.chunk_bytes(1 << 20) == 5'000u);
  BOOST_TEST(send_all() == 10'000u);
  now += 1h;
  BOOST_TEST(send_all() == 10'000u);
  now += 1ms;  // 100 bytes saved up, 4'900 owed after the next chunk
  BOOST_TEST(send_all() == 5'000u);
  now += 49ms;
  BOOST_TEST(send_all() == 0u);
  now += 1ms;
  BOOST_TEST(send_all() == 5'000u);
}

/// A stage of a pipeline, reduced to what it holds: a request's body until the next one's reply is
/// back, and its own answer is as large.
struct Relay {
  caf::actor next;
  bool takes_over = false;
};

caf::behavior relay(caf::event_based_actor* self, std::shared_ptr<Relay> relay) {
  return {[self, relay](const Mail& mail) -> caf::result<Mail> {
    if (relay->takes_over) take_over_body(mail);
    if (!relay->next) return mail;
    auto promise = self->make_response_promise();
    self->request(relay->next, caf::infinite, mail)
        .then([promise, held = mail](const Mail& reply) mutable { promise.deliver(reply); },
              [promise](const caf::error& error) mutable { promise.deliver(error); });
    return promise;
  }};
}

/// The last stage's answers are what frees the middle one's memory; they found no room in it.
BOOST_AUTO_TEST_CASE(a_pipeline_that_holds_more_than_the_receive_budget_does_not_stop) {
  for (const bool takes_over : {false, true}) {
    Swarm swarm;
    std::vector<Swarm::Node> nodes;
    std::vector<std::shared_ptr<Relay>> relays;
    for (uint8_t number = 1; number <= 4; ++number) {
      auto options = swarm.options(number);
      options.receive_budget_bytes = 1 << 20;
      nodes.push_back(swarm.start(options));
      relays.push_back(std::make_shared<Relay>());
      relays.back()->takes_over = takes_over;
      caf::anon_send(nodes.back().links, register_atom::value, std::string("relay"),
                     swarm.system.own(swarm.system->spawn(relay, relays.back())));
    }
    for (size_t i = 1; i + 1 < nodes.size(); ++i)
      relays[i]->next = swarm.resolve(nodes[i], nodes[i + 1], "relay");
    const auto first = swarm.resolve(nodes[0], nodes[1], "relay");
    const auto body = Buffer::from_string(std::string(128 << 10, 'b'));
    std::vector<std::shared_ptr<Swarm::Answer>> answers;
    for (uint64_t i = 0; i < 64; ++i) answers.push_back(swarm.ask(first, echo_mail(i, 60s, body)));
    swarm.system.advance(59s);
    const auto answered = std::count_if(answers.begin(), answers.end(), [&](const auto& answer) {
      return answer->here && answer->mail.body.size() == body.size();
    });
    BOOST_TEST(answered == 64, "taken over " << takes_over << ": " << answered << " of 64");
  }
}

BOOST_AUTO_TEST_SUITE_END()
