/// The fake network closes links that nobody has a use for, as real links do.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include "actors/net/echo.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::sim;
using namespace std::chrono_literals;

namespace {

struct Network {
  explicit Network(std::chrono::nanoseconds idle_close) {
    NetworkModel model;
    model.idle_close = idle_close;
    net.set_model(model, 1);
    for (const auto& id : {a, b}) actors::spawn_echo(*system, net.add(id));
    system.run();
  }
  caf::actor proxy() {
    caf::actor result;
    caf::scoped_actor self(*system);
    auto request = self->request(net.links(a), caf::infinite, actors::resolve_atom::value,
                                 ActorId{b, "echo"}, net.endpoint(b));
    system.run();
    request.receive([&](const caf::actor& echo) { result = echo; }, [](const caf::error&) {});
    return result;
  }
  bool talk(const caf::actor& echo) {
    bool answered = false;
    system->spawn([&answered, echo](caf::event_based_actor* self) {
      self->request(echo, caf::infinite, actors::make_mail(proto::Echo(), {}, 1s))
          .then([&answered](const actors::Mail&) { answered = true; }, [](const caf::error&) {});
    });
    system.advance(1'100ms);
    return answered;
  }

  DeterministicSystem system;
  FakeNetwork net{*system};
  NodeId a = testing::node(1), b = testing::node(2);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(NetworkIdle)

BOOST_AUTO_TEST_CASE(an_idle_link_is_closed_once_nobody_holds_a_proxy_and_made_anew_by_mail) {
  Network network(5s);
  caf::actor held = network.proxy();
  BOOST_REQUIRE(network.talk(held));
  network.system.advance(60s);
  BOOST_TEST(network.net.links_of(network.a) == 1u);
  held = nullptr;
  network.system.advance(2s);
  BOOST_TEST(network.net.links_of(network.a) == 0u);
  BOOST_TEST(network.net.links_of(network.b) == 0u);
  BOOST_TEST(network.net.closed_idle() == 1u);
  BOOST_TEST(network.talk(network.proxy()));
}

BOOST_AUTO_TEST_CASE(without_a_limit_links_stay) {
  Network network(0s);
  BOOST_REQUIRE(network.talk(network.proxy()));
  network.system.advance(600s);
  BOOST_TEST(network.net.links_of(network.a) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
