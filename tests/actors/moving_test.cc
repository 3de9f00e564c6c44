// Peers that are told to serve another stage (docs/elastic.md). The coordinator is the real one, but what it
// says of moving is the test's.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "actors/net/links/links.h"
#include "actors/net/mail_kinds.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;
using actors::Mail;

struct Moving : testing::SimSwarm {
  struct Order {
    uint64_t number = 0;
    uint32_t to = 0;
  };
  std::map<NodeId, Order> orders;  // that stand
  std::function<proto::MayLeaveReply()> may_leave = [] { return later(); };
  std::vector<proto::MayLeave> asked;
  std::map<NodeId, proto::RegisterPeer> registered;  // the last ones
  std::map<NodeId, int> forwards, ends;
  uint64_t term = 0;
  NodeId left{};  // whose old role is told to wait
  caf::actor between;

  Moving() {
    num_stages = 2;
    training.steps = 200;
    checkpoint.every_steps = 20;
  }
  ~Moving() {
    if (between) caf::anon_send_exit(between, caf::exit_reason::kill);
    system.run();
  }
  /// Two peers of stage 0 and one of stage 1, whose jobs take so long.
  void begin(std::chrono::milliseconds job = 10ms) {
    add_trainer("trainer");
    for (const auto& [name, stage] : {std::pair("a", 0), {"b", 0}, {"c", 1}}) {
      Swarm::add_peer(name, stage, {job, 0ms});
      start(name);
    }
    BOOST_REQUIRE(run_to_step(2));
    stand_between();
    net.set_filter([this](const NodeId&, const ActorId& to, const Mail& mail) {
      if (mail.kind == proto::KIND_FORWARD) ++forwards[to.node];
      if (mail.kind == proto::KIND_END_PERIOD) ++ends[to.node];
      return sim::Fate::kDeliver;
    });
  }
  void stand_between() {
    const caf::actor real = nodes["trainer"].actors[2];
    between = system->spawn([this, real](caf::event_based_actor* self) -> caf::behavior {
      return {[this, self, real](const Mail& mail) -> caf::result<Mail> {
        if (mail.kind == proto::KIND_MAY_LEAVE) return leaving(mail.as<proto::MayLeave>());
        if (mail.kind == proto::KIND_REGISTER_PEER) {
          const auto& message = mail.as<proto::RegisterPeer>();
          registered[*NodeId::from_bytes(message.peer().node_id())] = message;
          if (message.wants_stage()) return verdict_for(message, {});
        }
        auto promise = self->make_response_promise();
        self->request(real, caf::infinite, mail)
            .then([=](const Mail& reply) mutable { promise.deliver(changed(mail, reply)); },
                  [=](const caf::error& error) mutable { promise.deliver(error); });
        return promise;
      }};
    });
    caf::anon_send(net.links(id("trainer")), actors::register_atom::value,
                   RoleName{Role::kCoordinator}.text(), between);
    system.run();
  }
  Mail leaving(const proto::MayLeave& message) {
    asked.push_back(message);
    auto reply = may_leave();
    reply.set_term(term);
    return actors::make_mail(std::move(reply));
  }
  Mail changed(const Mail& mail, const Mail& reply) {
    if (reply.kind != proto::KIND_REGISTER_PEER_REPLY) return reply;
    const auto& verdict = reply.as<proto::RegisterPeerReply>();
    term = verdict.term();
    return verdict_for(mail.as<proto::RegisterPeer>(), verdict);
  }
  /// Says MOVE until the registration shows the order.
  Mail verdict_for(const proto::RegisterPeer& message, proto::RegisterPeerReply verdict) {
    using Reply = proto::RegisterPeerReply;
    const auto node = *NodeId::from_bytes(message.peer().node_id());
    const bool gone = node == left && RoleName::parse(message.peer().actor())->life == 0;
    if (message.wants_stage() || gone) {
      verdict.set_verdict(Reply::VERDICT_WAIT);
      verdict.set_term(term);
    }
    const auto found = orders.find(node);
    verdict.set_order(found == orders.end() ? 0 : found->second.number);
    if (found != orders.end() && message.moves_by() != found->second.number) {
      verdict.set_verdict(Reply::VERDICT_MOVE);
      verdict.set_move_to(found->second.to);
    }
    return actors::make_mail(std::move(verdict));
  }

  static proto::MayLeaveReply later() {
    proto::MayLeaveReply reply;
    reply.set_retry_after_ms(100);
    return reply;
  }
  /// From now on; the order is carried out then, whatever the next life is told.
  void say_yes() {
    may_leave = [this] {
      orders.clear();
      proto::MayLeaveReply reply;
      reply.set_yes(true);
      return reply;
    };
  }
  NodeId id(const std::string& name) { return nodes[name].id; }
  std::string text(const std::string& name) { return describe(nodes[name].stage_server); }
  bool says(const std::string& name, const std::string& words) {
    return text(name).find(words) != std::string::npos;
  }
  bool within(std::chrono::seconds limit, const std::function<bool()>& done) {
    return system.advance_until(done, limit, 5ms);
  }
  bool asks_within(std::chrono::seconds limit) {
    const size_t before = asked.size();
    return within(limit, [&] { return asked.size() > before; });
  }
  bool serves(const std::string& name, int stage) {
    return nodes[name].stage == stage && says(name, ", serving,");
  }
  uint64_t step() const { return events->steps.back().step; }
  void check_end(int replicas) {
    BOOST_REQUIRE(run_to_end(600s));
    system.advance(5s);
    BOOST_TEST(check_parameters() == "");
    BOOST_TEST(checked == replicas);
    BOOST_TEST(events->count("replicas_differ") == 0u);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(MovingTest, Moving)

BOOST_AUTO_TEST_CASE(who_is_told_to_move_finishes_asks_and_serves_the_other_stage) {
  begin();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(asks_within(30s));
  // Nothing is in hand, and its part of the step is in the parameters.
  BOOST_TEST(says("a", "serving, moves to stage 1,"), text("a"));
  BOOST_TEST(says("a", "resident 0 of"), text("a"));
  BOOST_TEST(says("a", "slots held 0,"), text("a"));
  BOOST_TEST(asked[0].order() == 1u);
  BOOST_TEST(asked[0].term() == term);
  BOOST_TEST(within(5s, [&] { return registered[id("a")].moves_by() == 1u; }));
  BOOST_TEST(registered[id("a")].moves_term() == term);
  BOOST_TEST(events->count("sum_dropped") == 0u);
  // The others go on, and find it no more.
  system.advance(4s);
  const int given = forwards[id("a")];
  const uint64_t before = step();
  BOOST_TEST(run_to_step(before + 3));
  BOOST_TEST(forwards[id("a")] == given);
  BOOST_TEST(nodes["a"].stage == 0);
  say_yes();
  BOOST_TEST(within(30s, [&] { return serves("a", 1); }), text("a"));
  BOOST_TEST(events->count("actor_failed") == 0u);
  BOOST_TEST(registered[id("a")].peer().actor() == "stage.0.1");
  BOOST_TEST(registered[id("a")].stage() == 1u);
  BOOST_TEST(registered[id("a")].moves_by() == 0u);
  // What it has of its old stage stays on its disk.
  BOOST_TEST(!disks.at("a")->durable().at("stage/0").empty());
  check_end(3);
}

BOOST_AUTO_TEST_CASE(who_moves_tells_of_what_codecs_took_from_it) {
  averager_options.codec = tensor::Codec::kInt8Linear;
  begin();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(asks_within(30s));
  say_yes();
  BOOST_TEST(within(30s, [&] { return serves("a", 1); }), text("a"));
  size_t told = 0;
  for (const auto& event : events->events)
    if (const auto one = event.as<records::ResidualLost>())
      told += one->reason == "the peer moves" && one->contribution > 0;
  BOOST_TEST(told == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_in_hand_is_finished_first) {
  begin(100ms);
  orders[id("a")] = {1, 1};
  const auto finishes = [this] {
    return says("a", "moves to stage 1") && !says("a", "resident 0 of");
  };
  BOOST_REQUIRE(within(60s, finishes));
  BOOST_TEST(asked.empty());
  BOOST_TEST(asks_within(60s));
  BOOST_TEST(says("a", "resident 0 of"), text("a"));
}

BOOST_AUTO_TEST_CASE(no_lets_it_serve_on) {
  begin();
  orders[id("a")] = {1, 1};
  may_leave = [this] {
    orders.clear();
    return proto::MayLeaveReply();
  };
  BOOST_REQUIRE(asks_within(30s));
  system.advance(1s);
  BOOST_TEST(!says("a", "moves"), text("a"));
  const int given = forwards[id("a")];
  BOOST_TEST(within(30s, [&] { return forwards[id("a")] > given + 5; }));
  BOOST_TEST(asked.size() == 1u);
  check_end(3);
}

// As with another coordinator, which knows nothing of it.
BOOST_AUTO_TEST_CASE(an_order_that_nobody_repeats_lapses) {
  begin();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(asks_within(30s));
  orders.clear();
  BOOST_REQUIRE(within(3s, [&] { return !says("a", "moves"); }));
  const int given = forwards[id("a")];
  const size_t before = asked.size();
  BOOST_TEST(within(30s, [&] { return forwards[id("a")] > given + 5; }));
  BOOST_TEST(asked.size() == before);
  BOOST_TEST(nodes["a"].stage == 0);
}

// The coordinator has taken it out of its stage already: what it registers as is no peer any more.
BOOST_AUTO_TEST_CASE(a_yes_that_is_lost_is_asked_for_again) {
  begin();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(asks_within(30s));
  left = id("a");
  system.advance(3s);
  BOOST_TEST(says("a", "registering, moves to stage 1"), text("a"));
  say_yes();
  BOOST_TEST(within(30s, [&] { return nodes["a"].stage == 1; }), text("a"));
}

// The only snapshot of its old stage that there is may be its own.
BOOST_AUTO_TEST_CASE(what_a_mover_saved_of_its_old_stage_is_a_copy_of_that_though_none_are_made) {
  coordinator_options.placement.moves = true;
  checkpoint.every_steps = 1;
  begin();
  say_yes();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(within(60s, [&] { return serves("a", 1); }));
  system.advance(2s);
  BOOST_REQUIRE(registered[id("a")].copies_size() > 0);
  BOOST_TEST(registered[id("a")].copies(0).stage() == 0u);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_comes_back_in_the_stage_it_had_moved_to) {
  begin();
  say_yes();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(within(60s, [&] { return serves("a", 1); }));
  kill("a");
  start("a");
  BOOST_TEST(within(30s, [&] { return serves("a", 1); }), text("a"));
  check_end(3);
}

BOOST_AUTO_TEST_CASE(a_node_that_leaves_while_it_moves_leaves) {
  begin();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(asks_within(30s));
  bool left = false;
  drain("a", [&] { left = true; });
  BOOST_TEST(within(60s, [&] { return left; }));
  BOOST_TEST(says("a", ", draining,"), text("a"));
  BOOST_TEST(nodes["a"].stage == 0);
}

BOOST_AUTO_TEST_CASE(with_delayed_updates_nothing_is_lost_either) {
  training.delayed_updates = true;
  begin();
  say_yes();
  orders[id("a")] = {1, 1};
  BOOST_TEST(within(60s, [&] { return serves("a", 1); }), text("a"));
  check_end(3);
}

BOOST_AUTO_TEST_CASE(without_steps_it_takes_part_in_rounds_until_it_goes) {
  training.mode = actors::TrainingMode::kAsync;
  begin();
  orders[id("a")] = {1, 1};
  BOOST_REQUIRE(asks_within(60s));
  BOOST_TEST(says("a", "resident 0 of"), text("a"));
  const int before = ends[id("a")];
  BOOST_TEST(within(60s, [&] { return ends[id("a")] > before + 2; }));
  BOOST_TEST(events->count("round_failed") == 0u);
  BOOST_TEST(says("a", ", serving, moves to stage 1"), text("a"));
  say_yes();
  BOOST_TEST(within(60s, [&] { return serves("a", 1); }), text("a"));
}

BOOST_AUTO_TEST_CASE(a_node_without_a_stage_waits_for_one_and_serves_it) {
  begin();
  Swarm::add_peer("new", actors::kAnyStage, {10ms, 0ms});
  start("new");
  BOOST_REQUIRE(within(10s, [&] { return registered.count(id("new")) > 0; }));
  BOOST_TEST(registered[id("new")].wants_stage());
  system.advance(5s);
  BOOST_TEST(nodes["new"].stage == actors::kAnyStage);
  BOOST_TEST(says("new", "waits for a stage"));
  orders[id("new")] = {1, 1};
  BOOST_REQUIRE(within(10s, [&] { return nodes["new"].stage == 1; }));
  orders.clear();
  BOOST_TEST(within(60s, [&] { return serves("new", 1); }), text("new"));
  kill("new");
  start("new");
  BOOST_TEST(within(30s, [&] { return serves("new", 1); }), text("new"));
  check_end(4);
}

BOOST_AUTO_TEST_CASE(registrations_say_how_much_a_peer_works) {
  begin(50ms);
  system.advance(10s);
  const auto& busy = registered[id("c")];  // of which there is one
  BOOST_TEST(busy.may_move());
  BOOST_TEST((busy.running() > 0.2 && busy.running() < 1.1), busy.running());
  BOOST_TEST(busy.running() / busy.done_per_s() == 0.05, boost::test_tools::tolerance(0.05));
  BOOST_TEST(busy.queued() > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm
