// Mail that came over a link is of the node at its other end: what it says of others is refused, and
// changes nothing.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>

#include "actors/net/errors.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "routing/membership/term.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

struct Running : testing::SimSwarm {
  Running() {
    num_stages = 1;
    training.steps = 60;
    add_trainer("trainer");
    add_peer("a", 0);
    add_peer("b", 0);
    BOOST_REQUIRE(run_to_step(2));
  }
  NodeId id(const std::string& name) { return nodes[name].id; }
  std::string name_of(const NodeId& of) {
    for (const auto& [name, node] : nodes)
      if (node.id == of) return name;
    return "";
  }
  caf::actor coordinator() { return nodes["trainer"].actors[2]; }

  /// What `target` answers to mail that came over the link to `from`; kNone: it took it.
  template <class T>
  ErrorCode outcome(const caf::actor& target, const T& message, const NodeId& from) {
    auto mail = actors::make_mail(message);
    mail.from = from;
    mail.from_name = name_of(from);
    auto code = std::make_shared<ErrorCode>(ErrorCode::kInternal);
    system->spawn([=](caf::event_based_actor* self) {
      self->request(target, caf::infinite, mail)
          .then([=](const actors::Mail&) { *code = ErrorCode::kNone; },
                [=](const caf::error& e) { *code = actors::from_caf(e).code; });
    });
    system.run();
    return *code;
  }
  proto::Peer peer(const std::string& name, const std::string& actor) {
    return actors::to_proto(ActorId{id(name), actor}, Endpoint{"127.0.0.1", 1}, name);
  }
  bool goes_on() {
    const uint64_t now = events->steps.back().step;
    return run_to_step(now + 3, 5s) && events->count("coordinator") == 1 &&
           events->count("lost") == 0 && events->count("trainer_lost") == 0;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(SendersTest, Running)

// Anybody could end a peer's registration, as its next life.
BOOST_AUTO_TEST_CASE(nobody_registers_for_another_node) {
  proto::RegisterPeer message;
  *message.mutable_peer() = peer("a", "stage.0.9");
  BOOST_TEST((outcome(coordinator(), message, id("b")) == ErrorCode::kRefused));
  BOOST_TEST(goes_on());
}

BOOST_AUTO_TEST_CASE(nobody_leases_or_reports_for_another_trainer) {
  proto::Lease lease;
  *lease.mutable_trainer() = peer("trainer", "trainer.9");
  lease.set_max_slots(1);
  BOOST_TEST((outcome(coordinator(), lease, id("b")) == ErrorCode::kRefused));
  proto::SlotDone done;
  *done.mutable_trainer() = peer("trainer", "trainer");
  BOOST_TEST((outcome(coordinator(), done, id("b")) == ErrorCode::kRefused));
  BOOST_TEST(goes_on());
}

// Votes, rests and places go by names: it voted for the other, whose own vote was forgotten.
BOOST_AUTO_TEST_CASE(nobody_goes_by_the_name_of_another_node) {
  const auto refused = [this](const auto& message) {
    return outcome(coordinator(), message, id("b")) == ErrorCode::kRefused;
  };
  for (const std::string name : {"a", "new", ""}) {
    proto::Peer own = peer("b", "stage.0");
    own.set_node_name(name);
    proto::RegisterPeer registers;
    *registers.mutable_peer() = own;
    BOOST_TEST(refused(registers));
    proto::Lease lease;
    *lease.mutable_trainer() = own;
    BOOST_TEST(refused(lease));
    proto::VoterLeaves leaves;
    *leaves.mutable_voter() = own;
    BOOST_TEST(refused(leaves));
  }
  BOOST_TEST(goes_on());
}

BOOST_AUTO_TEST_CASE(nobody_leaves_for_another_node) {
  proto::VoterLeaves leaves;
  *leaves.mutable_voter() = peer("a", "voter");
  BOOST_TEST((outcome(coordinator(), leaves, id("b")) == ErrorCode::kRefused));
  proto::MayLeave mover;
  *mover.mutable_peer() = peer("a", "stage.0");
  mover.set_ends(true);
  BOOST_TEST((outcome(coordinator(), mover, id("b")) == ErrorCode::kRefused));
  BOOST_TEST(goes_on());
}

// One message wedged a run for good.
BOOST_AUTO_TEST_CASE(a_term_or_a_step_that_cannot_be_is_refused) {
  proto::RegisterPeer message;
  *message.mutable_peer() = peer("b", "stage.0");
  message.set_foreign_term(~uint64_t{0});
  BOOST_TEST((outcome(coordinator(), message, id("b")) == ErrorCode::kRefused));
  message.set_foreign_term(0);
  message.set_has_state(true);
  message.set_step(uint64_t{1} << 40);
  BOOST_TEST((outcome(coordinator(), message, id("b")) == ErrorCode::kRefused));
  BOOST_TEST(goes_on());
}

BOOST_AUTO_TEST_CASE(a_term_far_above_is_reached_in_steps_and_training_goes_on) {
  proto::RegisterPeer message;
  *message.mutable_peer() = peer("b", "stage.0");
  message.set_foreign_term(uint64_t{100'000} << routing::kTermNodeBits);
  outcome(coordinator(), message, id("b"));
  BOOST_TEST(run_to_end());
  BOOST_TEST(events->count("coordinator") == 2);
}

// 1,024 registrations led to the last of all terms, after which nobody can lead.
BOOST_AUTO_TEST_CASE(a_peer_that_says_ever_higher_terms_is_followed_slowly) {
  proto::RegisterPeer message;
  *message.mutable_peer() = peer("b", "stage.0");
  message.set_foreign_term(uint64_t{1'000'000} << routing::kTermNodeBits);
  for (int i = 0; i < 30; ++i) outcome(coordinator(), message, id("b"));
  BOOST_TEST(run_to_end());
  BOOST_TEST(events->count("coordinator") <= 3);
}

BOOST_AUTO_TEST_CASE(a_peer_obeys_the_coordinator_and_nobody_else) {
  const auto target = nodes["a"].stage_server;
  const Term ours = routing::next_term(Term(), id("trainer"));
  proto::Restore restore;
  restore.set_reason("a stranger says so");
  restore.set_term(ours.value());
  BOOST_TEST((outcome(target, restore, id("b")) == ErrorCode::kRefused));
  restore.set_term(routing::next_term(Term(uint64_t{1} << 30), id("b")).value());
  BOOST_TEST((outcome(target, restore, id("b")) == ErrorCode::kRefused));
  proto::CloseStep close;
  close.set_term(~uint64_t{0});
  BOOST_TEST((outcome(target, close, id("b")) == ErrorCode::kRefused));
  proto::CommitStep commit;
  commit.set_term(ours.value());
  BOOST_TEST((outcome(target, commit, id("b")) == ErrorCode::kRefused));
  BOOST_TEST((outcome(target, proto::SaveCheckpoint(), id("b")) == ErrorCode::kRefused));
  BOOST_TEST(events->count("suspended") == 0u);
  BOOST_TEST(goes_on());
}

BOOST_AUTO_TEST_CASE(a_microbatch_is_given_up_by_its_sender_only) {
  proto::CancelAttempt cancel;
  proto::ForwardRequest forward;
  forward.set_asker(id("trainer").raw());
  BOOST_TEST((outcome(nodes["a"].stage_server, forward, id("b")) != ErrorCode::kNone));
  BOOST_TEST((outcome(nodes["a"].stage_server, cancel, id("b")) == ErrorCode::kNone));
  BOOST_TEST(goes_on());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm
