/// Links that nobody has a use for are closed, without a word to anybody; the others stay.
#include "actors/net/links/idle_links.h"

#include <algorithm>
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
using links::IdleRules;

namespace {

NodeId node_id(uint8_t number) {
  NodeId id;
  id.bytes[0] = number;
  return id;
}

/// Nodes with an actor "echo" each; what their subscribers were told, as "+node2" and "-node2".
struct Swarm {
  struct Node {
    LinksOptions options;
    caf::actor links;
    std::shared_ptr<std::vector<std::string>> told = std::make_shared<std::vector<std::string>>();
  };
  struct Answer {
    bool here = false, ok = false;
  };

  Swarm() { network.set_delay(5ms); }

  Node start(uint8_t number, double idle_close_s = 60, uint32_t max_links = 256) {
    Node node;
    node.options.node_id = node_id(number);
    node.options.node_name = "node" + std::to_string(number);
    node.options.run_id = "run";
    node.options.listen = {node.options.node_name, 1};
    node.options.idle_close_s = idle_close_s;
    node.options.max_links = max_links;
    node.links = system.own(spawn_memory_links(*system, node.options, network));
    auto echo = system->spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](const Mail& mail) { return mail; }};
    });
    caf::anon_send(node.links, register_atom::value, std::string("echo"), system.own(echo));
    auto listener = system->spawn([told = node.told](caf::event_based_actor*) -> caf::behavior {
      return {[told](node_up_atom, const NodeInfo& node) { told->push_back("+" + node.name); },
              [told](node_down_atom, const NodeInfo& node, const std::string&) {
                told->push_back("-" + node.name);
              }};
    });
    caf::anon_send(node.links, subscribe_atom::value, system.own(listener));
    system.run();
    return node;
  }

  caf::actor proxy(const Node& from, const Node& to) {
    caf::actor result;
    caf::scoped_actor self(*system);
    auto request = self->request(from.links, caf::infinite, resolve_atom::value,
                                 ActorId{to.options.node_id, "echo"}, to.options.listen);
    system.run();
    request.receive([&](const caf::actor& proxy) { result = proxy; }, [](const caf::error&) {});
    return result;
  }

  /// Asks once; whoever asks lets the proxy go afterwards.
  std::shared_ptr<Answer> ask(const caf::actor& proxy) {
    auto answer = std::make_shared<Answer>();
    auto asker = system->spawn([answer, proxy](caf::event_based_actor* self) {
      self->request(proxy, caf::infinite, make_mail(proto::Echo(), {}, 10s))
          .then([answer](const Mail&) { answer->here = answer->ok = true; },
                [answer](const caf::error&) { answer->here = true; });
    });
    system.run();
    return answer;
  }
  bool talk(const Node& from, const Node& to) {
    auto answer = ask(proxy(from, to));
    system.advance(100ms);
    return answer->ok;
  }

  size_t links(const Node& node) {
    size_t count = 0;
    caf::scoped_actor self(*system);
    auto request = self->request(node.links, caf::infinite, stats_atom::value);
    system.run();
    request.receive([&](const LinksStats& stats) { count = stats.links.size(); },
                    [](const caf::error&) {});
    return count;
  }

  MemoryNetwork network;
  sim::DeterministicSystem system;
};

const links::NodeTable::TimePoint kNow = links::NodeTable::TimePoint{} + 1h;

}  // namespace

BOOST_AUTO_TEST_SUITE(IdleLinks)

BOOST_AUTO_TEST_CASE(links_idle_for_long_enough_are_given_up) {
  const IdleRules rules{60, 10};
  const auto out =
      links::to_give_up({{1, kNow - 59s}, {2, kNow - 60s}, {3, kNow - 61s}}, 5, kNow, rules);
  BOOST_TEST(out == (std::vector<links::ConnId>{3, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(too_many_links_cost_the_least_recently_used_their_place) {
  const IdleRules rules{60, 10};
  const std::vector<links::UnneededLink> unneeded = {
      {1, kNow - 5s}, {2, kNow - 20s}, {3, kNow - 500ms}, {4, kNow - 10s}};
  BOOST_TEST(links::to_give_up(unneeded, 12, kNow, rules) == (std::vector<links::ConnId>{2, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(links::to_give_up(unneeded, 10, kNow, rules).empty());
  // What was used a moment ago stays, however many there are.
  BOOST_TEST(links::to_give_up(unneeded, 40, kNow, rules) == (std::vector<links::ConnId>{2, 4, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_link_that_nobody_has_a_use_for_is_closed_and_nobody_is_told) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  BOOST_REQUIRE(swarm.talk(a, b));
  swarm.system.advance(55s);
  BOOST_TEST(swarm.links(a) == 1u);
  swarm.system.advance(15s);
  BOOST_TEST(swarm.links(a) == 0u);
  BOOST_TEST(swarm.links(b) == 0u);
  BOOST_TEST(*a.told == std::vector<std::string>{"+node2"}, boost::test_tools::per_element());
  BOOST_TEST(*b.told == std::vector<std::string>{"+node1"}, boost::test_tools::per_element());
  BOOST_TEST(swarm.talk(a, b));  // dials anew
  BOOST_TEST(swarm.talk(b, a));
  BOOST_TEST(swarm.links(a) == 1u);
}

BOOST_AUTO_TEST_CASE(a_link_stays_while_either_side_holds_a_proxy) {
  for (const bool dialler_holds : {true, false}) {
    Swarm swarm;
    auto a = swarm.start(1), b = swarm.start(2);
    BOOST_REQUIRE(swarm.talk(a, b));
    auto held = dialler_holds ? swarm.proxy(a, b) : swarm.proxy(b, a);
    swarm.system.advance(600s);
    BOOST_TEST(swarm.links(a) == 1u);
    held = nullptr;
    swarm.system.advance(75s);
    BOOST_TEST(swarm.links(a) == 0u);
    BOOST_TEST(swarm.links(b) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_dies_after_its_link_was_closed_is_missed_by_the_next_mail_only) {
  Swarm swarm;
  auto a = swarm.start(1), b = swarm.start(2);
  BOOST_REQUIRE(swarm.talk(a, b));
  swarm.system.advance(75s);
  swarm.network.kill(node_id(2));
  swarm.system.advance(10s);
  BOOST_TEST(*a.told == std::vector<std::string>{"+node2"}, boost::test_tools::per_element());
  BOOST_TEST(!swarm.talk(a, b));
}

/// Mail at every moment of the closing: none is lost, none fails.
BOOST_AUTO_TEST_CASE(no_mail_is_lost_while_a_link_is_closed) {
  for (int late_ms = 0; late_ms < 4'000; late_ms += 13) {
    Swarm swarm;
    auto a = swarm.start(1, /*idle_close_s=*/2), b = swarm.start(2, /*idle_close_s=*/2);
    BOOST_REQUIRE(swarm.talk(a, b));
    swarm.system.advance(1'500ms + std::chrono::milliseconds(late_ms));
    std::vector<std::shared_ptr<Swarm::Answer>> answers;
    for (int i = 0; i < 3; ++i) {
      answers.push_back(swarm.ask(swarm.proxy(late_ms % 2 == 0 ? a : b, late_ms % 2 == 0 ? b : a)));
      swarm.system.advance(3ms);
    }
    swarm.system.advance(1s);
    for (const auto& answer : answers) BOOST_REQUIRE(answer->ok);
    for (const auto& told : {a.told, b.told})
      for (const std::string& what : *told) BOOST_REQUIRE(what.front() == '+');
  }
}

BOOST_AUTO_TEST_CASE(a_node_with_more_acquaintances_than_links_talks_to_all_of_them) {
  Swarm swarm;
  constexpr uint8_t kOthers = 12;
  constexpr uint32_t kMostLinks = 4;
  auto hub = swarm.start(1, /*idle_close_s=*/60, kMostLinks);
  std::vector<Swarm::Node> others;
  for (uint8_t n = 0; n < kOthers; ++n) others.push_back(swarm.start(static_cast<uint8_t>(n + 2)));
  auto held = swarm.proxy(hub, others[0]);  // its coordinator, say
  for (int round = 0; round < 3; ++round)
    for (const auto& other : others) {
      BOOST_TEST(swarm.talk(round % 2 == 0 ? other : hub, round % 2 == 0 ? hub : other));
      swarm.system.advance(1'500ms);
    }
  swarm.system.advance(6s);
  BOOST_TEST(swarm.links(hub) == kMostLinks);
  BOOST_TEST(swarm.links(others[0]) == 1u);
  auto answer = swarm.ask(held);
  swarm.system.advance(12ms);  // there and back: the link was kept
  BOOST_TEST(answer->ok);
  BOOST_TEST(std::none_of(hub.told->begin(), hub.told->end(),
                          [](const std::string& what) { return what.front() == '-'; }));
}

BOOST_AUTO_TEST_SUITE_END()
