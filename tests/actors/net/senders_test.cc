// Who speaks on a link: mail names nobody else, and nobody comes in as somebody who is there.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include "actors/net/errors.h"
#include "actors/net/links/session.h"
#include "apps/sim/deterministic_system.h"
#include "tests/support/memory_network.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart = TimePoint{} + 1h;

/// A link from a to b, and what b's node is told.
struct Link {
  explicit Link(LinksOptions a_options = testing::link_options(1)) {
    LinksOptions b_options = testing::link_options(2);
    b_options.on_refused = [this](const Refusal& refusal) { told.push_back(refusal); };
    auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
    a.emplace(std::make_shared<LinksOptions>(std::move(a_options)), true, budget, kStart);
    b.emplace(std::make_shared<LinksOptions>(std::move(b_options)), false, budget, kStart,
              "10.0.0.1:40000");
    exchange();
  }
  void exchange() { testing::exchange(*a, *b, kStart); }
  std::vector<LinkEvent> arrives() {
    exchange();
    std::vector<LinkEvent> mail;
    for (auto& event : b->take_events())
      if (event.type == LinkEvent::Type::kMail) mail.push_back(std::move(event));
    return mail;
  }
  std::optional<Session> a, b;
  std::vector<Refusal> told;
};

/// Links actors of one address each.
struct Place {
  Place() { network.set_delay(1ms); }
  /// `address`: from where its dials come. Under the name of node `name`.
  caf::actor start(uint8_t number, const std::string& address, uint8_t name,
                   const std::string& key = {}) {
    LinksOptions options = testing::link_options(number);
    options.node_name = testing::link_options(name).node_name;
    options.listen = {"host" + std::to_string(number), 1};
    options.key = key;
    options.max_pending_hellos = places;
    options.on_refused = [this](const Refusal& refusal) { refused.push_back(refusal.reason); };
    network.set_address(options.node_id, address);
    auto links = system.own(spawn_memory_links(*system, options, network));
    system.run();
    return links;
  }
  /// The name of whom is reached.
  std::string dial(const caf::actor& links, uint8_t number) {
    caf::scoped_actor self(*system);
    auto request = self->request(links, caf::infinite, connect_atom::value,
                                 Endpoint{"host" + std::to_string(number), 1});
    system.advance(100ms);
    std::string outcome;
    request.receive([&](const NodeInfo& info) { outcome = info.name; },
                    [&](const caf::error& e) { outcome = to_string(from_caf(e)); });
    return outcome;
  }
  MemoryNetwork network;
  sim::DeterministicSystem system;
  std::vector<std::string> refused;
  uint32_t places = 256;  // before the hello
};

}  // namespace

BOOST_AUTO_TEST_SUITE(Senders)

BOOST_AUTO_TEST_CASE(mail_is_of_the_node_at_the_other_end) {
  Link link;
  BOOST_REQUIRE(link.a->send("echo", make_mail(proto::Echo())).ok());
  const auto mail = link.arrives();
  BOOST_REQUIRE_EQUAL(mail.size(), 1u);
  BOOST_REQUIRE(mail[0].mail.from.has_value());
  BOOST_TEST((*mail[0].mail.from == testing::link_options(1).node_id));
  BOOST_TEST(mail[0].mail.from_name == testing::link_options(1).node_name);
  BOOST_TEST(speaks_for(mail[0].mail, testing::link_options(1).node_id).ok());
  BOOST_TEST(
      (speaks_for(mail[0].mail, testing::link_options(3).node_id).code() == ErrorCode::kRefused));
  BOOST_TEST(speaks_for(make_mail(proto::Echo()), testing::link_options(3).node_id)
                 .ok());  // of this process
}

BOOST_AUTO_TEST_CASE(refused_mail_is_told_with_its_senders_name) {
  LinksOptions tool = testing::link_options(1);
  tool.is_tool = true;
  Link link(tool);
  BOOST_REQUIRE(link.a->request("coordinator", make_mail(proto::RegisterPeer()), kStart).ok());
  BOOST_TEST(link.arrives().empty());
  BOOST_REQUIRE_EQUAL(link.told.size(), 1u);
  BOOST_TEST(link.told[0].node == "node1");
  BOOST_TEST(link.told[0].address == "10.0.0.1:40000");
  BOOST_TEST(link.told[0].reason.find("register_peer") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_an_actor_refuses_is_told_too_of_requests_and_of_mail_that_goes_one_way) {
  Link link;
  BOOST_REQUIRE(link.a->request("echo", make_mail(proto::Echo()), kStart).ok());
  const auto mail = link.arrives();
  BOOST_REQUIRE_EQUAL(mail.size(), 1u);
  link.b->reply(mail[0].request_id, Error{ErrorCode::kRefused, "not\nyours"});
  link.b->reply(0, Error{ErrorCode::kRefused, "one way"});
  link.b->reply(0, Error{ErrorCode::kNotFound, "no news"});
  BOOST_REQUIRE_EQUAL(link.told.size(), 2u);
  BOOST_TEST(link.told[0].reason == "not\\x0ayours");
  BOOST_TEST(link.told[1].reason == "one way");
}

BOOST_AUTO_TEST_CASE(a_hello_with_a_name_that_is_none_is_refused) {
  LinksOptions strange = testing::link_options(1);
  strange.node_name = "a\nb";
  Link link(strange);
  BOOST_TEST((link.b->state() == Session::State::kClosed));
  BOOST_REQUIRE_EQUAL(link.told.size(), 1u);
  BOOST_TEST(link.told[0].reason.find("a\\x0ab") != std::string::npos, link.told[0].reason);
}

// It was placed before the node's own link and got its mail.
BOOST_AUTO_TEST_CASE(a_second_link_in_a_nodes_name_from_elsewhere_is_refused) {
  Place place;
  place.start(2, "10.0.0.2:1", 2);
  auto victim = place.start(1, "10.0.0.1:1", 1), other = place.start(7, "10.6.6.6:1", 1);
  BOOST_TEST(place.dial(victim, 2) == "node2");
  BOOST_TEST(place.refused.empty());
  const std::string outcome = place.dial(other, 2);
  BOOST_TEST(outcome.find("has a link from 10.0.0.1 already") != std::string::npos, outcome);
  BOOST_TEST(place.refused.size() == 2u);  // both sides say so
}

BOOST_AUTO_TEST_CASE(a_node_that_is_started_again_on_its_machine_comes_in) {
  Place place;
  place.start(2, "10.0.0.2:1", 2);
  auto before = place.start(1, "10.0.0.1:1", 1), again = place.start(7, "10.0.0.1:9", 1);
  BOOST_TEST(place.dial(before, 2) == "node2");
  BOOST_TEST(place.dial(again, 2) == "node2");
}

BOOST_AUTO_TEST_CASE(who_has_proven_the_key_comes_back_while_strangers_say_nothing) {
  const std::string key(LinksOptions::kKeyBytes, 'k');
  Place place;
  place.places = 8;
  place.start(2, "10.0.0.2:1", 2, key);
  auto before = place.start(1, "10.0.0.1:1", 1, key), again = place.start(7, "10.0.0.1:1", 1, key);
  BOOST_TEST(place.dial(before, 2) == "node2");
  place.network.kill(testing::link_options(1).node_id);
  place.system.advance(2min);  // it is not remembered as a node
  for (uint8_t number = 20; number < 30; ++number) {
    auto stranger = place.start(number, "10.6.6." + std::to_string(number) + ":1", number);
    place.network.drop(testing::link_options(2).node_id, testing::link_options(number).node_id);
    caf::anon_send(stranger, connect_atom::value, Endpoint{"host2", 1});
    place.system.advance(10ms);
  }
  auto new_here = place.start(8, "10.0.0.8:1", 8, key);
  BOOST_TEST(place.dial(new_here, 2) != "node2");
  BOOST_TEST(place.dial(again, 2) == "node2");
}

BOOST_AUTO_TEST_CASE(
    a_node_whose_address_has_changed_comes_in_with_the_key_or_when_its_link_is_gone) {
  const std::string key(LinksOptions::kKeyBytes, 'k');
  for (const std::string& proof : {key, std::string()}) {
    Place place;
    place.start(2, "10.0.0.2:1", 2, proof);
    auto before = place.start(1, "10.0.0.1:1", 1, proof);
    auto moved = place.start(7, "10.9.9.9:1", 1, proof);
    BOOST_TEST(place.dial(before, 2) == "node2");
    BOOST_TEST((place.dial(moved, 2) == "node2") == !proof.empty());
    place.network.kill(testing::link_options(1).node_id);
    place.system.advance(1s);
    BOOST_TEST(place.dial(moved, 2) == "node2");
  }
}

BOOST_AUTO_TEST_SUITE_END()
