// Parts of a network that was cut find each other again.
#include <boost/test/unit_test.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <map>
#include <vector>

#include "actors/dht/dht_node.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "tests/support/ids.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using testing::node;

struct Parts {
  Parts() {
    network.set_model({}, 1);
    add(kFirst, {});
    for (uint8_t n = 1; n <= 4; ++n) add(n, {network.endpoint(node(kFirst))});
    system.advance(1s);
  }
  ~Parts() {
    for (auto& [n, dht] : nodes) caf::anon_send_exit(dht, caf::exit_reason::user_shutdown);
    nodes.clear();
    system.run();
    network.shut_down();
    system.run();
  }
  void add(uint8_t n, std::vector<Endpoint> join) {
    const auto links = network.add(node(n));
    nodes[n] =
        spawn_dht_node(*system, {node(n), network.endpoint(node(n)), links, {}, "run", join});
    system.advance(10ms);
  }
  size_t contacts_of(uint8_t n) {
    caf::scoped_actor self{*system};
    auto request = self->request(nodes.at(n), caf::infinite, dht_status_atom::value);
    system.run();
    size_t count = 0;
    request.receive([&](const DhtStatus& status) { count = status.contacts.size(); },
                    [](const caf::error&) {});
    return count;
  }
  void cut(bool heals) {
    for (const uint8_t a : {1, 2})
      for (const uint8_t b : {3, 4}) {
        network.cut(node(a), node(b));
        network.cut(node(b), node(a));
      }
    system.advance(60s);
    if (heals) network.heal_all();
  }

  static constexpr uint8_t kFirst = 9;
  sim::DeterministicSystem system;
  sim::FakeNetwork network{*system};
  std::map<uint8_t, caf::actor> nodes;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(DhtJoiningTest)

// Nobody dialled anybody but who they had joined through: each part trained or waited by itself for ever.
BOOST_FIXTURE_TEST_CASE(parts_meet_again_though_the_node_that_all_joined_through_is_gone, Parts) {
  network.kill(node(kFirst));
  caf::anon_send_exit(nodes.at(kFirst), caf::exit_reason::kill);
  nodes.erase(kFirst);
  system.run();
  cut(/*heals=*/true);
  system.advance(40s);  // two refreshes
  for (uint8_t n = 1; n <= 4; ++n) BOOST_TEST(contacts_of(n) == 3u);
}

BOOST_FIXTURE_TEST_CASE(who_is_cut_off_is_no_contact, Parts) {
  cut(/*heals=*/false);
  for (uint8_t n = 1; n <= 4; ++n)
    BOOST_TEST(contacts_of(n) == 2u);  // its neighbour, and the first
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors
