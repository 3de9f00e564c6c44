#include "actors/coordinator/coordinator_client.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <memory>

#include "actors/net/errors.h"
#include "actors/net/local.h"
#include "apps/sim/deterministic_system.h"
#include "common/names.h"
#include "routing/membership/term.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;
using swarm::testing::node;

namespace {

/// A client whose links and DHT are played here; everybody is there who has a record.
struct Reader {
  Reader() {
    world = system.own(system->spawn([this](caf::event_based_actor* self) -> caf::behavior {
      return {[this](dht_get_atom, const std::string&) { return records; },
              [this](connect_atom, const Endpoint& endpoint) -> caf::result<NodeInfo> {
                ++dials;
                if (full) return to_caf(Error{ErrorCode::kOverloaded, "no room", 1'000});
                NodeInfo info;
                info.id = at[endpoint.text()];
                return info;
              },
              [self](resolve_atom, const ActorId&, const Endpoint&) {
                return caf::actor_cast<caf::actor>(self);
              },
              [](unreached_atom, const NodeId&) {}};
    }));
    owner = system.own(system->spawn([this](caf::event_based_actor* self) -> caf::behavior {
      CoordinatorClientDeps deps;
      deps.self = self;
      deps.links = deps.dht = world;
      deps.on_change = [] {};
      client = std::make_unique<CoordinatorClient>(std::move(deps));
      return {[this](tick_atom) { client->tick(); },
              [](run_later_atom, const LocalTask& task) { task(); }};
    }));
    system.run();
  }
  /// That `number` coordinates, in the `terms`-th term.
  void says(uint32_t number, uint32_t terms, const std::string& endpoint) {
    Term term;
    for (uint32_t i = 0; i < terms; ++i) term = routing::next_term(term, node(number));
    proto::CoordinatorRecord record;
    record.set_node_id(node(number).raw());
    record.set_actor("coordinator");
    record.set_endpoint(endpoint);
    record.set_term(term.value());
    record.set_active(true);
    records.push_back({subkey_of(node(number)), record.SerializeAsString(), 1, 60s});
    at[endpoint] = node(number);
  }
  void breaks(const NodeId& link_to) {
    caf::anon_send(owner, run_later_atom::value, LocalTask([=] { client->node_down(link_to); }));
    system.run();
  }
  ErrorCode accepts(Term term, uint32_t from) {
    auto code = ErrorCode::kInternal;
    caf::anon_send(owner, run_later_atom::value,
                   LocalTask([&] { code = client->accept(term, node(from)).code(); }));
    system.run();
    return code;
  }
  NodeId followed() {
    caf::anon_send(owner, tick_atom::value);
    system.advance(2s);
    return client->known() ? client->id().node : NodeId();
  }

  sim::DeterministicSystem system;
  DhtRecords records;
  std::map<std::string, NodeId> at;
  bool full = false;  ///< Nobody has room for another link.
  int dials = 0;
  caf::actor world, owner;
  std::unique_ptr<CoordinatorClient> client;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(CoordinatorClientTest)

BOOST_FIXTURE_TEST_CASE(the_highest_term_is_followed, Reader) {
  says(1, 1, "10.0.0.1:100");
  says(2, 2, "10.0.0.2:100");
  BOOST_TEST(followed() == node(2));
}

BOOST_FIXTURE_TEST_CASE(whose_link_broke_is_followed_again_under_the_same_term, Reader) {
  says(1, 1, "10.0.0.1:100");
  BOOST_TEST(followed() == node(1));
  breaks(node(1));
  BOOST_TEST(!client->known());
  records[0].version = 2;  // it lives: it announces itself again
  BOOST_TEST(followed() == node(1));
}

// Each refusal was followed by the next dial at once.
BOOST_FIXTURE_TEST_CASE(who_has_no_room_for_a_link_is_dialled_again_with_pauses, Reader) {
  says(1, 1, "10.0.0.1:100");
  full = true;
  BOOST_TEST(followed() == NodeId());
  system.advance(60s);
  BOOST_TEST(dials > 1);
  BOOST_TEST(dials < 200);
  full = false;
  system.advance(60s);
  BOOST_TEST(followed() == node(1));
}

// Nobody dials a name that others say, and the one below it was not followed either.
BOOST_FIXTURE_TEST_CASE(a_record_that_gives_a_name_hides_nobody, Reader) {
  says(1, 1, "10.0.0.1:100");
  says(2, 2, "far.example:100");
  BOOST_TEST(followed() == node(1));
}

// What it tells the one it follows, which takes a higher term then: else two raise theirs in turn, or an old one
// goes on unheard.
BOOST_FIXTURE_TEST_CASE(who_had_an_order_of_another_coordinator_reports_its_term, Reader) {
  says(1, 1, "10.0.0.1:100");
  BOOST_TEST(followed() == node(1));
  const Term own = routing::next_term(Term(), node(1));
  const Term other = routing::next_term(routing::next_term(Term(), node(2)), node(2));
  BOOST_TEST((accepts(own, 1) == ErrorCode::kNone));
  BOOST_TEST(client->foreign_term() == Term());
  BOOST_TEST((accepts(other, 3) == ErrorCode::kRefused));  // it is node 2's
  BOOST_TEST(client->foreign_term() == Term());
  BOOST_TEST((accepts(other, 2) == ErrorCode::kNone));
  BOOST_TEST(client->foreign_term() == other);
  BOOST_TEST((accepts(own, 1) == ErrorCode::kStaleTerm));
}

// It had led a part of few; the others' coordinator had finished, so that nobody told it of the higher term.
BOOST_FIXTURE_TEST_CASE(who_stands_by_again_is_left_for_another_of_a_lower_term, Reader) {
  says(1, 1, "10.0.0.1:100");
  says(2, 2, "10.0.0.2:100");
  BOOST_TEST(followed() == node(2));
  proto::CoordinatorRecord record;
  BOOST_REQUIRE(record.ParseFromString(records[1].value));
  record.set_active(false);
  records[1].value = record.SerializeAsString();
  BOOST_TEST(followed() == node(2));  // as it said before
  records[1].version = 2;
  const Term other = client->term();
  BOOST_TEST((accepts(other, 2) == ErrorCode::kNone));
  system.advance(60s);  // it asks now and then
  BOOST_TEST(followed() == node(1));
  BOOST_TEST(client->foreign_term() == other);
}

// With it the terms of a run are used up: who follows it hears of no other any more.
BOOST_FIXTURE_TEST_CASE(a_record_of_the_last_term_is_not_followed, Reader) {
  says(2, routing::kLastTermNumber, "10.0.0.2:100");
  BOOST_TEST(followed() == NodeId());
  says(1, 1, "10.0.0.1:100");
  BOOST_TEST(followed() == node(1));
  BOOST_TEST(followed() == node(1));
}

BOOST_FIXTURE_TEST_CASE(who_says_ever_higher_terms_is_believed_slowly, Reader) {
  says(1, 1, "10.0.0.1:100");
  BOOST_TEST(followed() == node(1));
  Term said;
  ErrorCode last = ErrorCode::kNone;
  for (int i = 0; i < 1'100; ++i) {
    for (int n = 0; n < 1'000; ++n) said = routing::next_term(said, node(2));
    last = accepts(said, 2);
    if (last == ErrorCode::kRefused) break;
  }
  BOOST_TEST((last == ErrorCode::kRefused));
  BOOST_TEST(routing::term_number(client->foreign_term()) == 2'000u);
}

BOOST_AUTO_TEST_SUITE_END()
