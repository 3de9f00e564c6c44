/// A coordinator that moves peers which are played by hand: their voters are real, their stages are not.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "actors/coordinator/coordinator.h"
#include "actors/dht/dht_node.h"
#include "actors/net/requests.h"
#include "actors/voter/voter.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/disk.h"
#include "apps/sim/network.h"
#include "apps/sim/voter_on_disk.h"
#include "common/names.h"
#include "tests/support/ids.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;
using actors::Mail;
using Reply = proto::RegisterPeerReply;

struct Peer {
  NodeId node;
  uint32_t stage = 0;
  std::string actor = "stage.0";
  bool has_state = false;
  uint64_t moves_by = 0;
  Reply told{};  ///< Last.
};

struct Led {
  sim::DeterministicSystem system;
  sim::FakeNetwork net{*system};
  std::shared_ptr<records::MemoryEventLog> events = std::make_shared<records::MemoryEventLog>();
  std::map<std::string, Peer> peers;
  uint32_t nodes = 0;
  NodeId leader = add_node("leader");
  caf::actor coordinator = start_coordinator();

  /// One peer of stage 0, four of stage 1.
  Led() {
    for (const char* name : {"a", "b", "c", "d", "e"}) peers[name] = {add_node(name), 1};
    peers["a"].stage = 0;
    const auto all_serve = [this] {
      tell_all();
      return std::all_of(peers.begin(), peers.end(), [](const auto& one) {
        return one.second.told.verdict() == Reply::VERDICT_SERVE;
      });
    };
    BOOST_REQUIRE(system.advance_until(all_serve, 60s, 100ms));
  }

  NodeId add_node(const std::string& name) {
    const NodeId id = testing::node(++nodes);
    actors::VoterDeps voter;
    voter.id = {id, kVoterName};
    voter.links = net.add(id, name);
    voter.endpoint = net.endpoint(id);
    voter.node_name = name;
    voter.disk = std::make_shared<sim::VoterOnDisk>(std::make_shared<sim::Disk>(),
                                                    std::make_shared<bool>(true));
    voter.detached = false;
    system.own(actors::spawn_voter(*system, std::move(voter)));
    return id;
  }
  caf::actor start_coordinator() {
    actors::CoordinatorDeps deps;
    deps.id = {leader, "coordinator"};
    deps.endpoint = net.endpoint(leader);
    deps.node_name = "leader";
    deps.num_stages = 2;
    deps.sequence = 4;
    deps.training.batch = 16;
    deps.training.microbatch = 2;
    deps.options.placement.period = 2s;
    deps.links = net.links(leader);
    deps.dht = system.own(actors::spawn_dht_node(
        *system, {leader, deps.endpoint, deps.links, deps.dht_options, "run", {}}));
    deps.events = events;
    return system.own(actors::spawn_coordinator(*system, std::move(deps)));
  }

  template <class Message>
  Result<Mail> ask(Message message, const std::optional<NodeId>& from = std::nullopt) {
    auto mail = actors::make_mail(std::move(message));
    mail.from = from;
    if (from) mail.from_name = "leader";
    for (const auto& [name, peer] : peers)
      if (from == peer.node) mail.from_name = name;
    caf::scoped_actor self(*system);
    auto handle = self->request(coordinator, caf::infinite, mail);
    system.run();
    Result<Mail> out = Error{ErrorCode::kInternal, "no answer"};
    handle.receive([&](const Mail& reply) { out = reply; },
                   [&](const caf::error& error) { out = actors::from_caf(error); });
    return out;
  }
  proto::Peer named(const std::string& name) {
    const Peer& peer = peers.at(name);
    return actors::to_proto(ActorId{peer.node, peer.actor}, net.endpoint(peer.node), name);
  }
  Reply tell(const std::string& name, bool wants_stage = false) {
    Peer& peer = peers.at(name);
    proto::RegisterPeer message;
    *message.mutable_peer() = named(name);
    message.set_stage(peer.stage);
    message.set_has_state(peer.has_state);
    message.set_checksum(peer.has_state ? 7 : 0);
    message.set_running(1);
    message.set_done_per_s(1);
    message.set_may_move(true);
    message.set_moves_by(peer.moves_by);
    message.set_moves_term(peer.told.term());
    message.set_wants_stage(wants_stage);
    const auto reply = ask(std::move(message), peer.node);
    if (!reply) return peer.told = {};
    peer.told = reply->as<Reply>();
    peer.has_state |= peer.told.verdict() == Reply::VERDICT_INITIALIZE;
    return peer.told;
  }
  void tell_all() {
    for (const auto& one : peers) tell(one.first);
  }
  /// Who is told to move; it shows that from now on.
  std::string mover() {
    std::string name;
    const auto found = [&] {
      tell_all();
      for (auto& [one, peer] : peers)
        if (peer.told.verdict() == Reply::VERDICT_MOVE) name = one;
      return !name.empty();
    };
    BOOST_REQUIRE(system.advance_until(found, 10s, 500ms));
    BOOST_TEST(peers[name].told.move_to() == 0u);
    peers[name].moves_by = peers[name].told.order();
    return name;
  }
  proto::MayLeaveReply may_leave(const std::string& name, uint64_t term) {
    proto::MayLeave message;
    *message.mutable_peer() = named(name);
    message.set_order(peers.at(name).moves_by);
    message.set_term(term);
    const auto reply = ask(std::move(message), peers.at(name).node);
    BOOST_REQUIRE(reply.ok());
    return reply->as<proto::MayLeaveReply>();
  }
  proto::MayLeaveReply may_leave(const std::string& name) {
    return may_leave(name, peers.at(name).told.term());
  }
  /// A microbatch was carried, and `name` holds it for its stage.
  void hold_a_slot(const std::string& name) {
    proto::Lease lease;
    *lease.mutable_trainer() =
        actors::to_proto(ActorId{leader, "trainer"}, net.endpoint(leader), "leader");
    lease.set_max_slots(1);
    lease.mutable_text()->set_fingerprint(1);
    const auto leased = ask(lease, leader);
    BOOST_REQUIRE(leased.ok());
    const auto& reply = leased->as<proto::LeaseReply>();
    BOOST_REQUIRE(reply.slots_size() == 1);
    proto::SlotDone done;
    *done.mutable_trainer() = lease.trainer();
    done.set_step(reply.step());
    done.set_slot(reply.slots(0).slot());
    done.set_attempt(reply.slots(0).attempt());
    done.set_loss_sum(1);
    done.set_samples(2);
    auto* hop = done.add_route();
    hop->set_stage(peers.at(name).stage);
    *hop->mutable_peer() = named(name);
    hop->set_held(true);
    hop->set_attempt(done.attempt());
    BOOST_REQUIRE(ask(done, leader).ok());
  }
  Result<Mail> move(const std::string& peer, uint32_t stage) {
    proto::MovePeer message;
    message.set_peer(peer);
    message.set_stage(stage);
    return ask(message);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(RelocationMailTest, Led)

BOOST_AUTO_TEST_CASE(a_peer_moves_and_serves_its_new_stage) {
  const std::string name = mover();
  BOOST_TEST(events->count("peer_moves") == 1u);
  BOOST_TEST(tell(name).verdict() == Reply::VERDICT_SERVE);  // it shows its order
  BOOST_TEST(peers[name].told.order() == peers[name].moves_by);
  BOOST_TEST(may_leave(name).yes());
  BOOST_TEST(may_leave(name).yes());
  BOOST_TEST(tell(name).verdict() == Reply::VERDICT_WAIT);  // it is no peer any more
  BOOST_TEST(peers[name].told.order() == peers[name].moves_by);
  BOOST_TEST(events->count("lost") == 0u);
  Peer& peer = peers[name];
  peer.actor = "stage.0.1";
  peer.stage = 0;
  peer.moves_by = 0;
  peer.has_state = false;
  BOOST_TEST(tell(name).verdict() == Reply::VERDICT_FETCH);
  peer.has_state = true;
  BOOST_TEST(tell(name).verdict() == Reply::VERDICT_SERVE);
  BOOST_TEST(events->count("move_done") == 1u);
  BOOST_TEST(events->count("move_given_up") == 0u);
}

BOOST_AUTO_TEST_CASE(who_never_heard_that_it_might_leave_is_a_peer_again) {
  const std::string name = mover();
  BOOST_TEST(tell(name).verdict() == Reply::VERDICT_SERVE);
  BOOST_TEST(may_leave(name).yes());
  peers[name].moves_by = 0;
  BOOST_TEST(tell(name).verdict() != Reply::VERDICT_WAIT);
  BOOST_TEST(events->count("move_given_up") == 1u);
}

BOOST_AUTO_TEST_CASE(who_holds_slots_of_the_open_step_asks_again_later) {
  const std::string name = mover();
  hold_a_slot(name);
  const auto answer = may_leave(name);
  BOOST_TEST(!answer.yes());
  BOOST_TEST(answer.retry_after_ms() > 0u);
  BOOST_TEST(tell(name).order() == peers[name].moves_by);
}

BOOST_AUTO_TEST_CASE(an_order_of_another_term_is_answered_no) {
  const std::string name = mover();
  const auto answer = may_leave(name, peers[name].told.term() + 1);
  BOOST_TEST(!answer.yes());
  BOOST_TEST(answer.retry_after_ms() == 0u);
  BOOST_TEST(!answer.reason().empty());
}

BOOST_AUTO_TEST_CASE(a_mover_that_dies_is_lost_like_any_other) {
  const std::string name = mover();
  net.kill(peers[name].node);
  system.run();
  BOOST_TEST(events->count("lost") == 1u);
  BOOST_TEST(events->count("move_given_up") == 1u);
}

BOOST_AUTO_TEST_CASE(the_last_peer_of_a_stage_never_moves) {
  const auto refused = move("a", 1);
  BOOST_TEST((refused.code() == ErrorCode::kRefused));
  BOOST_TEST(refused.error().detail == "it is the last of its stage");
  BOOST_TEST((move("nobody", 1).code() == ErrorCode::kInvalidArgument));
  BOOST_TEST(tell("a").verdict() == Reply::VERDICT_SERVE);
}

BOOST_AUTO_TEST_CASE(an_operator_moves_a_peer) {
  const auto reply = move("e", 0);
  BOOST_REQUIRE(reply.ok());
  BOOST_TEST(reply->as<proto::PlacementReply>().lines(0).find("e moves from stage 1 to stage 0") ==
             0u);
  BOOST_TEST(tell("e").verdict() == Reply::VERDICT_MOVE);
  system.advance(1s);
  const auto again = ask(proto::Rebalance());
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(again->as<proto::PlacementReply>().lines_size() >= 1);
}

BOOST_AUTO_TEST_CASE(a_newcomer_is_told_where_it_is_needed_most) {
  peers["f"] = {add_node("f"), 0};
  const auto told = [this] { return tell("f", /*wants_stage=*/true).verdict(); };
  BOOST_TEST(system.advance_until([&] { return told() == Reply::VERDICT_MOVE; }, 5s, 100ms));
  BOOST_TEST(peers["f"].told.move_to() == 0u);
  BOOST_TEST(events->count("peer_moves") == 1u);
}

BOOST_AUTO_TEST_CASE(whose_node_ends_goes_when_it_has_no_part_in_anything) {
  const auto ends = [this](const std::string& name, bool idle, bool goes = false) {
    proto::MayLeave message;
    *message.mutable_peer() = named(name);
    message.set_ends(true);
    message.set_idle(idle);
    message.set_goes(goes);
    const auto reply = ask(std::move(message), peers.at(name).node);
    BOOST_REQUIRE(reply.ok());
    return reply->as<proto::MayLeaveReply>();
  };
  hold_a_slot("b");
  const auto first = ends("b", true);
  BOOST_TEST(!first.yes());
  BOOST_TEST(first.retry_after_ms() > 0u);
  BOOST_TEST(!ends("c", false).yes());
  BOOST_TEST(ends("c", true).yes(), "it has taken nothing");
  BOOST_TEST(ends("c", true).yes(), "it may ask again");
  BOOST_TEST(events->count("recompute") == 0u);
  // Of stage 0 there is one peer: nobody would close a step for it.
  BOOST_TEST(ends("a", false).yes());
  BOOST_TEST(!ends("b", true).yes());
  BOOST_TEST(events->count("lost") == 0u);  // all in order
  BOOST_TEST(ends("b", true, /*goes=*/true).yes());
  BOOST_TEST(events->count("lost") == 1u);  // it waits no longer
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm
