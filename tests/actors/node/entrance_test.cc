#include "actors/node/entrance.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <map>
#include <optional>
#include <set>

#include "actors/dht/dht_node.h"
#include "actors/net/errors.h"
#include "actors/node/dial_back.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "common/names.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;

namespace {

/// Nodes with links, DHT, entrance and dial-back on a fake network. Knocking finds whoever is up.
struct Machines {
  struct Node {
    NodeId id;
    Endpoint endpoint;
    caf::actor links, dht, entrance, dial_back;
    std::shared_ptr<MemoryEventLog> events = std::make_shared<MemoryEventLog>();
    std::vector<std::string> lines;
    bool admitted = false, turned_away = false;
    int alive = 0;
  };

  ~Machines() {
    for (auto& [number, node] : nodes) end(node);
    nodes.clear();
    system.run();
    net.shut_down();
    system.run();
  }

  static void end(Node& node) {
    for (caf::actor* actor : {&node.entrance, &node.dial_back, &node.dht})
      if (*actor) caf::anon_send_exit(*actor, caf::exit_reason::user_shutdown);
  }

  Knock knock() {
    return [this](const Endpoint& at) -> Result<NodeInfo> {
      knocked.push_back(at.text());
      for (const auto& [number, node] : nodes)
        if (node.endpoint == at && unreachable.count(at.text()) == 0)
          return NodeInfo{node.id, "node", at, false};
      return Error{ErrorCode::kLinkLost, at.text() + ": Connection refused"};
    };
  }

  Node& start(uint32_t number, const std::string& name, std::vector<Endpoint> join,
              bool launched = false) {
    Node& node = nodes[number];
    node.id = testing::node(number);
    node.links = net.add(node.id, name, static_cast<uint16_t>(7000 + number));
    node.endpoint = net.endpoint(node.id);
    node.dht = spawn_dht_node(*system, {node.id, node.endpoint, node.links, options, "run", join});
    node.dial_back = spawn_dial_back(*system, node.links, knock(), /*detached=*/false);
    EntranceDeps deps;
    deps.self = node.id;
    deps.endpoint = node.endpoint;
    deps.node_name = name;
    deps.join = std::move(join);
    deps.dht_options = options;
    deps.launched = launched;
    deps.links = node.links;
    deps.dht = node.dht;
    deps.events = node.events;
    deps.knock = knock();
    deps.detached = false;
    deps.say = [&node](const std::string& line) { node.lines.push_back(line); };
    deps.alive = [&node] { ++node.alive; };
    deps.how_to_join = [this](const Endpoint& at) { return tells ? "join " + at.text() : ""; };
    deps.admitted = [&node] { node.admitted = true; };
    deps.turned_away = [&node] { node.turned_away = true; };
    node.entrance = spawn_entrance(*system, std::move(deps));
    system.run();
    return node;
  }
  /// Whoever asks `node` for it hears `why`.
  void refuses_to_dial_back(Node& node, const Error& why) {
    caf::anon_send_exit(node.dial_back, caf::exit_reason::user_shutdown);
    node.dial_back = system->spawn([why](caf::event_based_actor*) -> caf::behavior {
      return {[why](const Mail&) -> caf::result<Mail> { return to_caf(why); }};
    });
    caf::anon_send(node.links, register_atom::value, std::string(kDialBackName), node.dial_back);
    system.run();
  }
  void kill(uint32_t number) {
    net.kill(nodes.at(number).id);
    end(nodes.at(number));
    nodes.erase(number);
    system.run();
  }

  sim::DeterministicSystem system;
  sim::FakeNetwork net{*system};
  DhtOptions options;
  std::map<uint32_t, Node> nodes;
  std::set<std::string> unreachable;
  std::vector<std::string> knocked;
  bool tells = false;  // how to join it
};

const Endpoint kNobody{"127.0.0.1", 1};

}  // namespace

BOOST_AUTO_TEST_SUITE(EntranceTest)

BOOST_FIXTURE_TEST_CASE(a_node_that_is_told_to_join_nobody_is_in_at_once, Machines) {
  const Node& first = start(1, "a", {});
  system.advance(100ms);
  BOOST_TEST(first.admitted);
  BOOST_REQUIRE_EQUAL(first.lines.size(), 1u);
  BOOST_TEST(first.lines[0].find("has begun a swarm") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(its_own_address_is_nobody_to_wait_for, Machines) {
  const Node& first = start(1, "a", {{"127.0.0.1", 7001}});
  system.advance(100ms);
  BOOST_TEST(first.admitted);
  BOOST_REQUIRE_EQUAL(first.lines.size(), 2u);  // it said nothing, and trained alone
  BOOST_TEST(first.lines[0].find("127.0.0.1:7001: --join names this node itself") == 0u,
             first.lines[0]);
  BOOST_TEST(first.events->count("waits_to_join") == 1u);
}

BOOST_FIXTURE_TEST_CASE(who_has_joined_says_so, Machines) {
  start(1, "a", {});
  const Node& second = start(2, "b", {{"127.0.0.1", 7002}, {"127.0.0.1", 7001}});
  system.advance(1s);
  BOOST_REQUIRE_EQUAL(second.lines.size(), 2u);
  BOOST_TEST(second.lines[0].find("left out") != std::string::npos, second.lines[0]);
  BOOST_TEST(second.lines[1] == "has joined the swarm as 'b'");
}

// It was said before anything else: by who never met anybody, and with an address that nobody can dial.
BOOST_FIXTURE_TEST_CASE(how_to_join_it_is_said_once_that_can_be_done, Machines) {
  tells = true;
  const std::string line = "join 127.0.0.1:700";
  BOOST_TEST(start(1, "a", {}).lines.front() == line + "1");
  unreachable = {"127.0.0.1:7003"};
  const Endpoint first{"127.0.0.1", 7001};
  const Node &alone = start(2, "b", {kNobody}), &hidden = start(3, "c", {first}),
             &reached = start(4, "d", {first});
  system.advance(10s);
  for (const Node* node : {&alone, &hidden})
    for (const auto& said : node->lines) BOOST_TEST(said.find("join 127") != 0u, said);
  BOOST_TEST(hidden.admitted);
  BOOST_REQUIRE_EQUAL(reached.lines.size(), 2u);
  BOOST_TEST(reached.lines[1] == line + "4");
}

// It elected itself coordinator, and trained alone or said nothing for ever.
BOOST_FIXTURE_TEST_CASE(who_meets_nobody_is_not_let_in_and_says_why, Machines) {
  const Node& node = start(1, "a", {kNobody});
  system.advance(3s);
  BOOST_TEST(!node.admitted);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 1u);
  BOOST_TEST(node.lines[0].find("127.0.0.1:1: Connection refused") != std::string::npos,
             node.lines[0]);
  BOOST_TEST(node.alive == 1);
  system.advance(10s);
  BOOST_TEST(node.lines.size() == 3u);
  BOOST_TEST(node.events->count("waits_to_join") == 3u);
  BOOST_TEST(node.alive == 3);  // whoever watches over the process is told while it waits
  system.advance(2min);
  BOOST_TEST(!node.admitted);
}

// A host that loses packets is found out after the first word; the reason came with the second, 6 s after the start.
BOOST_FIXTURE_TEST_CASE(a_reason_that_comes_after_the_first_word_is_said_at_once, Machines) {
  net.set_model({}, 1);
  const Node& dead = start(2, "b", {});
  system.advance(100ms);
  net.kill(dead.id, /*silently=*/true);
  const Node& node = start(1, "a", {dead.endpoint});
  system.advance(2s);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 1u);
  BOOST_TEST(node.lines[0].find("no answer yet") != std::string::npos, node.lines[0]);
  system.advance(2500ms);
  BOOST_REQUIRE_EQUAL(node.lines.size(), 2u);
  BOOST_TEST(node.lines[1].find("no answer yet") == std::string::npos, node.lines[1]);
  system.advance(2s);
  BOOST_TEST(node.lines.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(it_is_let_in_as_soon_as_somebody_comes, Machines) {
  const Node& node = start(1, "a", {{"127.0.0.1", 7002}});
  system.advance(20s);
  BOOST_TEST(!node.admitted);
  start(2, "b", {});
  system.advance(5s);
  BOOST_TEST(node.admitted);
}

BOOST_FIXTURE_TEST_CASE(whoever_joins_it_lets_it_in_too, Machines) {
  const Node& node = start(1, "a", {kNobody});
  system.advance(2s);
  const Node& other = start(2, "b", {{"127.0.0.1", 7001}});
  system.advance(1s);
  BOOST_TEST(node.admitted);
  BOOST_TEST(other.admitted);
}

BOOST_FIXTURE_TEST_CASE(a_name_that_somebody_has_is_not_given_twice, Machines) {
  const Node& first = start(1, "a", {});
  system.advance(100ms);
  const Node& second = start(2, "a", {first.endpoint});
  system.advance(1s);
  BOOST_TEST(first.admitted);
  BOOST_TEST(!first.turned_away);
  BOOST_TEST(!second.admitted);
  BOOST_TEST(second.turned_away);
  BOOST_REQUIRE_EQUAL(second.events->count("name_taken"), 1u);
  const auto event = second.events->events.back().as<records::NameTaken>();
  BOOST_REQUIRE(event.has_value());
  BOOST_TEST(event->endpoint == first.endpoint.text());
}

BOOST_FIXTURE_TEST_CASE(a_claim_that_names_its_host_makes_no_node_look_it_up, Machines) {
  const Node& first = start(1, "seed", {});
  system.advance(100ms);
  for (uint32_t number = 21; number < 23; ++number) {
    proto::NameRecord claim;
    claim.set_node_id(testing::node(number).raw());
    claim.set_endpoint(number == 21 ? "far.example:80" : "10.0.0.9:80");
    DhtRecordLocal record{subkey_of(testing::node(number)), claim.SerializeAsString(), 1, 60s};
    caf::anon_send(first.dht, dht_store_atom::value, name_key("a"), record);
  }
  const Node& second = start(2, "a", {first.endpoint});
  system.advance(1s);
  BOOST_TEST(second.admitted);
  BOOST_TEST(std::count(knocked.begin(), knocked.end(), "10.0.0.9:80") > 0);
  BOOST_TEST(std::count(knocked.begin(), knocked.end(), "far.example:80") == 0);
}

BOOST_FIXTURE_TEST_CASE(of_two_that_start_at_once_under_a_name_one_gets_it, Machines) {
  const Node& seed = start(1, "seed", {});
  const Node& a = start(2, "a", {seed.endpoint});
  const Node& b = start(3, "a", {seed.endpoint});
  system.advance(2s);
  BOOST_TEST((a.admitted != b.admitted));
  BOOST_TEST((a.turned_away != b.turned_away));
}

BOOST_FIXTURE_TEST_CASE(the_name_of_a_dead_process_is_free, Machines) {
  const Node& seed = start(1, "seed", {});
  start(2, "a", {seed.endpoint});
  system.advance(1s);
  kill(2);
  const Node& next = start(3, "a", {seed.endpoint});  // its record is still there
  system.advance(5s);
  BOOST_TEST(next.admitted);
}

BOOST_FIXTURE_TEST_CASE(who_cannot_be_dialled_back_is_told, Machines) {
  const Node& seed = start(1, "seed", {});
  unreachable.insert("127.0.0.1:7002");
  const Node& hidden = start(2, "a", {seed.endpoint});
  const Node& plain = start(3, "b", {seed.endpoint});
  system.advance(2s);
  BOOST_TEST(hidden.admitted);  // it works as far as others' dials are not needed
  BOOST_REQUIRE_EQUAL(hidden.events->count("announce_unreachable"), 1u);
  BOOST_TEST(hidden.events->events.back().reason().find("Connection refused") != std::string::npos);
  BOOST_TEST(plain.events->count("announce_unreachable") == 0u);
}

// It was asked once, by whoever was about to leave, and never said how to join it.
BOOST_FIXTURE_TEST_CASE(who_hears_no_answer_of_the_dial_back_asks_again_and_says_how_to_join,
                        Machines) {
  tells = true;
  Node& seed = start(1, "seed", {});
  refuses_to_dial_back(seed, {ErrorCode::kShuttingDown, "this node leaves"});
  const Node& other = start(2, "a", {seed.endpoint});
  system.advance(5s);
  BOOST_TEST(other.lines.back().find("join 127") != 0u);
  system.advance(10s);
  BOOST_TEST(other.lines.back().find("join 127") == 0u);
}

// Without the run's key only the address that a link comes from is dialled back: it said nothing then.
BOOST_FIXTURE_TEST_CASE(who_is_not_dialled_back_is_told_why, Machines) {
  Node& seed = start(1, "seed", {});
  refuses_to_dial_back(seed, {ErrorCode::kRefused, "only the address that it comes from"});
  const Node& other = start(2, "a", {seed.endpoint});
  system.advance(2s);
  BOOST_TEST(other.admitted);
  BOOST_REQUIRE_EQUAL(other.events->count("announce_untried"), 1u);
  BOOST_TEST(other.events->count("announce_unreachable") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_node_of_swarm_run_does_not_ask_for_its_name, Machines) {
  const Node& first = start(1, "a", {}, /*launched=*/true);
  BOOST_TEST(first.admitted);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(DialBackTest)

BOOST_FIXTURE_TEST_CASE(another_node_at_the_announced_address_is_named, Machines) {
  const Node& seed = start(1, "seed", {});
  start(2, "other", {seed.endpoint});
  system.advance(1s);
  proto::DialBack question;
  question.set_endpoint("127.0.0.1:7002");
  question.set_node_id(testing::node(9).raw());
  std::string reason;
  caf::scoped_actor self(*system);
  auto request = self->request(seed.dial_back, caf::infinite, make_mail(question));
  system.run();
  request.receive([&](const Mail& reply) { reason = reply.as<proto::DialBackReply>().reason(); },
                  [](const caf::error&) { BOOST_FAIL("no answer"); });
  BOOST_TEST(reason.find("another node") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(questions_that_make_no_sense_are_refused, Machines) {
  const Node& seed = start(1, "seed", {});
  const std::string own = start(2, "b", {seed.endpoint}).endpoint.text();
  system.advance(1s);
  const auto refused = [&](const std::string& endpoint, std::optional<NodeId> from) {
    proto::DialBack question;
    question.set_endpoint(endpoint);
    question.set_node_id(testing::node(2).raw());
    Mail mail = make_mail(question);
    mail.from = from;
    caf::scoped_actor self(*system);
    auto request = self->request(seed.dial_back, caf::infinite, mail);
    system.run();
    ErrorCode code = ErrorCode::kNone;
    request.receive([](const Mail&) {}, [&](const caf::error& e) { code = from_caf(e).code; });
    return code;
  };
  for (const char* endpoint :
       {"", "nowhere", "127.0.0.1:99999", "localhost:7001", "far.example:80"})
    BOOST_TEST((refused(endpoint, {}) == ErrorCode::kInvalidArgument), endpoint);
  BOOST_TEST((refused(own, testing::node(2)) == ErrorCode::kNone));
  BOOST_TEST((refused(own, testing::node(9)) == ErrorCode::kRefused));  // asks for another
  kill(2);
  BOOST_TEST((refused(own, testing::node(2)) == ErrorCode::kRefused));  // it is not there
}

// Whoever could make a link learned from the node which ports are open in its network.
BOOST_AUTO_TEST_CASE(strangers_are_dialled_only_where_they_come_from) {
  LinkStats link;
  link.node.id = testing::node(1);
  link.node.endpoint = {"10.6.6.6", 80};
  link.remote = "10.6.6.6:40000";
  const auto may = [&](const Endpoint& wanted) {
    return may_dial_back({link}, testing::node(1), wanted).ok();
  };
  BOOST_TEST(may({"10.6.6.6", 7000}));
  BOOST_TEST(may({"10.6.6.6", 80}));  // as it announced
  BOOST_TEST(!may({"10.6.6.6", 22}));
  BOOST_TEST(!may({"10.0.0.1", 7000}));
  BOOST_TEST(!may({"127.0.0.1", 7000}));
  link.node.endpoint = {"10.0.0.1", 22};
  BOOST_TEST(!may({"10.0.0.1", 22}));
  link.remote = "[::ffff:10.6.6.6]:40000";
  BOOST_TEST(may({"10.6.6.6", 7000}));
  link.proven = true;
  BOOST_TEST(may({"10.0.0.1", 22}));
  BOOST_TEST(!may_dial_back({link}, testing::node(2), {"10.6.6.6", 7000}).ok());
}

struct StrangersLinks {
  StrangersLinks() {
    LinkStats link;
    link.node.id = testing::node(1);
    link.remote = "10.6.6.6:40000";
    stats.links = {link};
    links = system->spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[](register_atom, const std::string&, const caf::actor&) {},
              [this](stats_atom) { return stats; }};
    });
    const auto knock = [this](const Endpoint&) -> Result<NodeInfo> {
      ++dials;
      return Error{ErrorCode::kLinkLost, "Connection refused"};
    };
    dial_back = spawn_dial_back(*system, links, knock, /*detached=*/false);
    system.run();
  }
  ~StrangersLinks() {
    for (auto* actor : {&links, &dial_back})
      caf::anon_send_exit(*actor, caf::exit_reason::user_shutdown);
    system.run();
  }
  ErrorCode ask(const std::string& endpoint) {
    proto::DialBack question;
    question.set_endpoint(endpoint);
    question.set_node_id(testing::node(1).raw());
    Mail mail = make_mail(question);
    mail.from = testing::node(1);
    caf::scoped_actor self(*system);
    auto request = self->request(dial_back, caf::infinite, mail);
    system.run();
    ErrorCode code = ErrorCode::kNone;
    request.receive([](const Mail&) {}, [&](const caf::error& e) { code = from_caf(e).code; });
    return code;
  }
  sim::DeterministicSystem system;
  LinksStats stats;
  caf::actor links, dial_back;
  int dials = 0;
};

BOOST_FIXTURE_TEST_CASE(an_address_is_dialled_back_once_in_a_while_and_others_never,
                        StrangersLinks) {
  for (int i = 0; i < 5; ++i) BOOST_TEST((ask("10.0.0.1:7000") == ErrorCode::kRefused));
  BOOST_TEST(dials == 0);
  BOOST_TEST((ask("10.6.6.6:7000") == ErrorCode::kNone));
  BOOST_TEST((ask("10.6.6.6:7001") == ErrorCode::kOverloaded));
  BOOST_TEST(dials == 1);
  system.advance(kDialBackPause);
  BOOST_TEST((ask("10.6.6.6:7001") == ErrorCode::kNone));
  stats.links[0].proven = true;
  BOOST_TEST((ask("10.0.0.1:7000") == ErrorCode::kNone));
}

BOOST_AUTO_TEST_SUITE_END()
