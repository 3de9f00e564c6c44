#include "actors/node/call_back.h"

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "common/names.h"
#include "swarm/wire.pb.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;
using testing::node;

namespace {

constexpr const char* kEcho = "echo";

/// Nodes 1, 2 and so on, which have met in the DHT; each has an actor that counts its mail.
struct World {
  explicit World(uint32_t nodes) {
    network.set_model({}, 1);
    for (uint32_t n = 1; n <= nodes; ++n) add(n);
    system.advance(3s);
  }
  void add(uint32_t n) {
    const NodeId id = node(n);
    auto links = network.add(id, "n" + std::to_string(n));
    std::vector<Endpoint> join;
    if (n > 1) join.push_back(network.endpoint(node(1)));
    const Endpoint own = network.endpoint(id);
    dht[n] = system.own(spawn_dht_node(*system, {id, own, links, DhtOptions(), "run", join}));
    system.own(spawn_call_back(*system, {id, own, links, dht[n]}));
    auto echo = system.own(system->spawn([this, n](caf::event_based_actor*) -> caf::behavior {
      return {[this, n](const Mail&) {
        ++got[n];
        return make_mail(proto::Ack());
      }};
    }));
    caf::anon_send(links, register_atom::value, std::string(kEcho), echo);
    system.run();
  }
  /// Mail from one to the other; it may be lost.
  void write(uint32_t from, uint32_t to) {
    auto links = network.links(node(from));
    const Endpoint where = network.endpoint(node(to));
    system.own(system->spawn([=](caf::event_based_actor* self) -> caf::behavior {
      install_default_handlers(self);
      self->request(links, 5s, resolve_atom::value, ActorId{node(to), kEcho}, where)
          .then([self](const caf::actor& proxy) {
            request_mail(self, proxy, make_mail(proto::Ack(), {}, 1s), [](const Result<Mail>&) {});
          });
      return {[](run_later_atom) {}};
    }));
    system.run();
  }

  sim::DeterministicSystem system;
  sim::FakeNetwork network{*system};
  std::map<uint32_t, caf::actor> dht;
  std::map<uint32_t, int> got;
};

/// One CallBack, of node 1, whose links and DHT are played here.
struct Alone {
  Alone() {
    world = system.own(system->spawn([this](caf::event_based_actor* self) -> caf::behavior {
      return {[](register_atom, const std::string&, const caf::actor&) {},
              [this, self](dht_status_atom) -> caf::result<DhtStatus> {
                ++asked;
                if (!dht_is_slow) return status;
                later.push_back(self->make_response_promise<DhtStatus>());
                return later.back();
              },
              [this](connect_atom, const Endpoint& endpoint) {
                dialled.push_back(endpoint);
                return NodeInfo{};
              },
              [this, self](resolve_atom, const ActorId&, const Endpoint& endpoint) {
                resolved.push_back(endpoint);
                return caf::actor_cast<caf::actor>(self);
              },
              [this](stats_atom) { return stats; },
              [this](caf::ok_atom) {  // within the actor, which owns the promises
                for (auto& promise : later) promise.deliver(DhtStatus{});
                later.clear();
              },
              [](const Mail&) {}};
    }));
    actor = system.own(spawn_call_back(*system, {node(1), {"127.0.0.1", 9}, world, world}));
  }
  void call(uint32_t wanted, uint32_t caller, bool passed_on = false,
            const std::string& endpoint = "10.0.0.1:80", std::optional<NodeId> from = {}) {
    proto::CallMe call;
    call.set_node_id(node(wanted).raw());
    call.set_caller_id(node(caller).raw());
    call.set_endpoint(endpoint);
    call.set_passed_on(passed_on);
    Mail mail = make_mail(std::move(call));
    mail.from = from;
    caf::anon_send(actor, mail);
    system.run();
  }

  void unreached(uint32_t wanted) {
    caf::anon_send(actor, unreached_atom::value, node(wanted));
    system.run();
  }
  void link(uint32_t other) {
    LinkStats link;
    link.node.id = node(other);
    stats.links.push_back(link);
  }

  sim::DeterministicSystem system;
  caf::actor world;
  DhtStatus status;
  size_t asked = 0;  // the DHT
  bool dht_is_slow = false;
  std::vector<caf::typed_response_promise<DhtStatus>> later;
  LinksStats stats;
  std::vector<Endpoint> dialled, resolved;
  caf::actor actor;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(CallBackTest)

BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_dialled_is_told_to_dial) {
  World world(4);
  for (uint32_t other : {1u, 2u, 4u}) world.network.close_to_dials(node(other), node(3));
  // Node 2 has lost its link; 1 and 4 still have theirs.
  world.network.cut(node(2), node(3));
  world.network.cut(node(3), node(2));
  world.system.advance(7s);
  world.network.heal_all();
  world.system.advance(1s);
  world.write(2, 3);
  world.system.advance(5s);  // the dial takes its time to fail
  BOOST_TEST(world.got[3] == 0);
  world.write(2, 3);
  world.system.advance(2s);
  BOOST_TEST(world.got[3] == 1);
}

BOOST_AUTO_TEST_CASE(others_do_not_make_a_node_dial_without_end_nor_silence_it) {
  Alone alone;
  for (uint32_t n = 9; n < 40; ++n) alone.link(n);
  alone.call(30, 1);  // as if this node had asked; it has not
  BOOST_TEST(alone.resolved.empty());
  for (uint32_t n = 2; n < 1'000; ++n) {
    alone.call(1, n);
    alone.call(1, n);
    alone.call(30, n);
  }
  BOOST_TEST(alone.dialled.size() == kMaxUnknown);
  BOOST_TEST(alone.resolved.size() == kMaxCallBacks);
  alone.resolved.clear();
  alone.unreached(5);
  BOOST_TEST(alone.resolved.size() == kAskedToPassOn);
}

BOOST_AUTO_TEST_CASE(invented_callers_take_no_places_of_those_that_are_known) {
  Alone alone;
  alone.status.contacts = {{node(2), {"10.0.0.2", 80}}};
  for (uint32_t n = 1'000; n < 2'000; ++n) alone.call(1, n, true, "10.6.6.6:22", node(9));
  BOOST_TEST(alone.dialled.size() == kMaxUnknown);
  alone.call(1, 2, true);
  BOOST_TEST(alone.dialled.back().text() == "10.0.0.2:80");
}

BOOST_AUTO_TEST_CASE(nobody_has_wishes_passed_on_in_the_name_of_others) {
  Alone alone;
  for (uint32_t n = 9; n < 60; ++n) alone.link(n);
  for (uint32_t n = 1'000; n < 1'100; ++n) alone.call(30, n, false, "10.6.6.6:22", node(9));
  BOOST_TEST(alone.resolved.empty());
  for (uint32_t n = 10; n < 60; ++n) alone.call(n, 9, false, "10.6.6.6:22", node(9));
  BOOST_TEST(alone.resolved.size() == kMaxWishes);  // as many as it might have itself
  alone.call(30, 10, false, "10.0.0.10:80", node(10));
  BOOST_TEST(alone.resolved.size() == kMaxWishes + 1);
}

BOOST_AUTO_TEST_CASE(a_caller_is_not_dialled_by_name) {
  Alone alone;
  alone.call(1, 2, true, "printer.example:9100");
  BOOST_TEST(alone.dialled.empty());
}

BOOST_AUTO_TEST_CASE(a_wish_goes_over_links_or_nowhere) {
  Alone alone;
  alone.call(2, 7);  // to be passed on to a node without a link
  alone.unreached(5);
  BOOST_TEST(alone.resolved.empty());
  alone.link(2);
  alone.link(2);       // two links, one node
  alone.unreached(5);  // nobody was asked before: not too soon
  BOOST_TEST(alone.resolved.size() == 1u);
  BOOST_TEST(alone.dialled.empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_stays_away_is_asked_for_ever_less_often) {
  Alone alone;
  alone.link(2);
  size_t asked = 0;
  for (int second = 0; second < 300; ++second) {
    alone.unreached(100);
    asked += alone.resolved.size();
    alone.resolved.clear();
    alone.system.advance(1s);
  }
  BOOST_TEST(asked == 7u);  // at 0, 5, 15, 35, 75, 155 and 235 s
}

// Two hundred nodes on a busy machine failed to dial one another; each failure was eight wishes, each
// of them a dial. No step was made.
BOOST_AUTO_TEST_CASE(wishes_are_few_and_dial_nobody) {
  Alone alone;
  for (uint32_t n = 2; n < 4; ++n) alone.link(n);
  for (uint32_t n = 100; n < 200; ++n) alone.unreached(n);
  BOOST_TEST(alone.resolved.size() == 2 * kMaxWishes);
  for (const auto& endpoint : alone.resolved) BOOST_TEST(endpoint.port == 0);
  alone.resolved.clear();
  alone.system.advance(5s);
  alone.unreached(100);
  BOOST_TEST(alone.resolved.size() == 2u);
  BOOST_TEST(alone.dialled.empty());
}

BOOST_AUTO_TEST_CASE(a_caller_is_dialled_where_the_dht_knows_it) {
  Alone alone;
  alone.status.contacts = {{node(2), {"10.0.0.2", 80}}};
  alone.call(1, 2);
  alone.call(1, 3);
  BOOST_TEST_REQUIRE(alone.dialled.size() == 2u);
  BOOST_TEST(alone.dialled[0].text() == "10.0.0.2:80");
  BOOST_TEST(alone.dialled[1].text() == "10.0.0.1:80");  // of whom nothing is known
}

BOOST_AUTO_TEST_CASE(of_a_slow_dht_little_is_asked_at_once) {
  Alone alone;
  alone.dht_is_slow = true;
  for (uint32_t caller = 2; caller < 40; ++caller) alone.call(1, caller);
  BOOST_TEST(alone.asked == kMaxAsking);
  caf::anon_send(alone.world, caf::ok_atom::value);
  alone.system.run();
  BOOST_TEST(alone.dialled.size() == kMaxAsking);
  alone.call(1, 50);
  BOOST_TEST(alone.asked == kMaxAsking + 1);
}

BOOST_AUTO_TEST_CASE(what_was_passed_on_is_not_passed_on_again) {
  Alone alone;
  alone.link(2);
  alone.call(2, 7);
  alone.call(2, 8, true);
  BOOST_TEST_REQUIRE(alone.resolved.size() == 1u);
  BOOST_TEST(alone.resolved[0].port == 0);  // over a link that there is
}

BOOST_AUTO_TEST_SUITE_END()
