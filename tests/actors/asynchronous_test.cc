// Asynchronous mode (docs/asynchronous.md) with the real actors in virtual time.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>

#include "actors/net/errors.h"
#include "apps/sim/period_checks.h"
#include "routing/membership/term.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(AsynchronousTest)

struct AsyncSwarm : testing::SimSwarm {
  explicit AsyncSwarm(int replicas = 2) : replicas_(replicas) {
    training.mode = actors::TrainingMode::kAsync;
    num_stages = 3;
    const auto write = observer.event;
    observer.event = [this, write](const std::string& node, const records::Event& event) {
      write(node, event);
      checks.event(event);
    };
    observer.metrics = [this](const std::string&, const records::StepMetrics& line) {
      events->metrics(line);
      checks.metrics(line);
    };
    const auto loaded = observer.loaded;
    observer.loaded = [this, loaded](const std::string& node, const records::LoadedState& state) {
      loaded(node, state);
      checks.loaded(node, state);
    };
    observer.parameters = [this](const std::string& node, const sim::ArithmeticStage& stage,
                                 const char* how) { checks.parameters(node, stage, how); };
    observer.noted = [this](const std::string& node, const sim::ArithmeticStage& stage,
                            const sim::StageNote& note) { checks.noted(node, stage, note); };
  }
  void start_all() {
    add_trainer("trainer-a");
    add_trainer("trainer-b");
    for (uint32_t stage = 0; stage < num_stages; ++stage)
      for (int i = 0; i < replicas_; ++i)
        add_peer("stage" + std::to_string(stage) + static_cast<char>('a' + i),
                 static_cast<int>(stage));
  }
  /// A node that was killed comes back.
  void start_again(const std::string& name) {
    checks.before_start(name);
    start(name);
  }
  /// An update subtracts its microbatch's mean: one peer ends with the sum over all samples / microbatch.
  float expected(uint32_t stage) const {
    int64_t sum = 0;
    for (uint64_t i = 0; i < uint64_t{training.steps} * training.batch; ++i)
      sum += sim::sample_value(i) + static_cast<int64_t>(stage);
    return -static_cast<float>(sum) / static_cast<float>(training.microbatch);
  }
  /// Of several replicas every update counts in the next average by its peer's samples, unless something
  /// failed; no peer loses or doubles its own, whatever does.
  void check_sums(bool nothing_failed = true) {
    checks.at_end({});
    BOOST_TEST((complaints.empty() ? std::string() : complaints.front()) == "");
    BOOST_TEST(checks.exact() == nothing_failed);
    for (const auto& [name, node] : nodes) {
      if (node.stage < 0) continue;
      BOOST_REQUIRE(node.arithmetic != nullptr);
      if (replicas_ == 1)
        BOOST_TEST(node.arithmetic->parameters()[0] == expected(static_cast<uint32_t>(node.stage)),
                   name << " has " << node.arithmetic->parameters()[0]);
    }
  }
  void check_equal_replicas() {
    std::map<int, uint64_t> first;
    for (const auto& [name, node] : nodes) {
      if (node.stage < 0 || !node.alive || node.arithmetic == nullptr) continue;
      auto [it, fresh] = first.emplace(node.stage, node.arithmetic->checksum());
      BOOST_TEST(it->second == node.arithmetic->checksum(), name << " differs from its replicas");
    }
    BOOST_TEST(events->count("replicas_differ") == 0u);
  }
  void check_lines() {
    std::vector<uint64_t> steps;
    for (const auto& line : events->steps) steps.push_back(line.step);
    for (uint64_t step = 0; step <= training.steps; ++step)
      BOOST_TEST(std::count(steps.begin(), steps.end(), step) >= 1, "no line of period " << step);
  }
  /// The trainer node whose coordinator is active.
  std::string leader() {
    for (auto& [name, node] : nodes)
      if (node.stage < 0 && node.alive &&
          describe(node.actors[2]).find("standby") == std::string::npos)
        return name;
    return "";
  }
  bool admitted(const std::string& node) const {
    return std::any_of(events->events.begin(), events->events.end(),
                       [&](const records::Event& event) {
                         const auto admitted = event.as<records::PeerAdmitted>();
                         return admitted && admitted->peer == node;
                       });
  }
  int replicas_;
  std::vector<std::string> complaints;
  sim::PeriodChecks checks{*this, [this](const std::string& invariant, const std::string& text) {
                             complaints.push_back(invariant + " " + text);
                           }};
};

struct AloneSwarm : AsyncSwarm {
  AloneSwarm() : AsyncSwarm(1) {}
};

BOOST_FIXTURE_TEST_CASE(one_peer_a_stage_takes_every_sample_once, AloneSwarm) {
  start_all();
  BOOST_TEST(run_to_end());
  check_sums();
  check_lines();
}

BOOST_FIXTURE_TEST_CASE(replicas_average_their_weights_and_no_update_is_lost, AsyncSwarm) {
  start_all();
  BOOST_TEST(run_to_end());
  check_sums();
  check_equal_replicas();
  check_lines();
  BOOST_TEST(events->count("recovered") == 0u);
}

BOOST_FIXTURE_TEST_CASE(averaging_in_the_background_loses_no_update_either, AsyncSwarm) {
  training.background_averaging = true;
  start_all();
  BOOST_TEST(run_to_end());
  check_sums();
  check_equal_replicas();
}

BOOST_FIXTURE_TEST_CASE(the_last_averaging_may_take_longer_than_one_request, AsyncSwarm) {
  training.sync_every = training.steps * training.batch;
  be_patient();
  start_all();
  BOOST_TEST(run_to_step(2));
  cut_both_ways("stage1a", "stage1b");
  system.advance(300s);
  BOOST_TEST(!finished());
  BOOST_TEST(events->count("member_asked_again") == 4u);
  net.heal_all();
  BOOST_TEST(run_to_end());
  check_sums();
  check_equal_replicas();
  BOOST_TEST(events->count("member_failed") == 0u);
}

BOOST_FIXTURE_TEST_CASE(averaging_falls_due_by_samples, AsyncSwarm) {
  training.sync_every = 3 * training.batch;
  start_all();
  BOOST_TEST(run_to_end());
  check_sums();
  // Of each of the 6 peers: after 3 periods and after 6.
  size_t averaged = 0;
  for (const auto& event : events->events) averaged += event.is<records::MemberAveraged>();
  BOOST_TEST(averaged == 12u);
}

BOOST_FIXTURE_TEST_CASE(gradients_are_staler_the_further_from_the_end, AloneSwarm) {
  training.steps = 12;
  start_all();
  BOOST_TEST(run_to_end());
  std::vector<double> sum(num_stages), updates(num_stages);
  for (const auto& line : events->steps) {
    BOOST_TEST(line.staleness.size() == num_stages);  // also where no stage made an update
    for (size_t stage = 0; stage < line.staleness.size(); ++stage) {
      if (!line.staleness[stage]) continue;
      const auto& histogram = line.staleness[stage]->histogram;
      for (size_t k = 0; k < histogram.size(); ++k) {
        updates[stage] += static_cast<double>(histogram[k]);
        sum[stage] += static_cast<double>(k * histogram[k]);
      }
    }
  }
  for (double count : updates) BOOST_TEST(count > 0.8 * 12 * 8);  // the last period's come too late
  BOOST_TEST(sum[2] == 0);
  BOOST_TEST(sum[1] > 0);
  BOOST_TEST(sum[0] > sum[1]);
}

/// Periods that were open together may close in the same moment.
BOOST_FIXTURE_TEST_CASE(no_period_claims_a_rate_that_the_swarm_cannot_have, AsyncSwarm) {
  training.steps = 24;
  start_all();
  const auto start = system.now();
  BOOST_TEST(run_to_end());
  const double tokens = static_cast<double>(events->steps.back().tokens);
  const double mean = tokens / std::chrono::duration<double>(system.now() - start).count();
  for (const auto& line : events->steps)
    if (line.tokens_per_second)
      BOOST_TEST(*line.tokens_per_second < 50 * mean, "period " << line.step);
}

BOOST_FIXTURE_TEST_CASE(several_microbatches_make_one_update, AloneSwarm) {
  training.local_update_every = 4;
  start_all();
  BOOST_TEST(run_to_end());
  for (const auto& [name, node] : nodes) {
    if (node.stage < 0) continue;
    BOOST_TEST(node.arithmetic->updates() == training.steps * 8u / 4u);
    BOOST_TEST(describe(node.stage_server).find("local updates 12,") != std::string::npos);
  }
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_dies_costs_its_updates_only, AsyncSwarm) {
  training.steps = 30;
  start_all();
  uint64_t step = 1;
  for (const char* name : {"stage0a", "stage2b", "stage1a"}) {
    BOOST_TEST(run_to_step(step));
    kill(name);
    BOOST_TEST(run_to_step(step + 3));  // the others do not stop
    start_again(name);
    step += 6;
  }
  BOOST_TEST(run_to_end(300s));
  system.advance(10s);
  check_sums(false);
  check_equal_replicas();
  check_lines();
}

BOOST_FIXTURE_TEST_CASE(the_coordinator_dies_and_another_goes_on, AsyncSwarm) {
  training.steps = 20;
  start_all();
  for (const char* name : {"trainer-a", "trainer-b"}) {
    BOOST_TEST(run_to_step(name == std::string("trainer-a") ? 3 : 10));
    kill(name);
    system.advance(1s);
    start_again(name);
  }
  BOOST_TEST(run_to_end(300s));
  check_sums(false);
  check_equal_replicas();
  check_lines();
}

BOOST_FIXTURE_TEST_CASE(a_coordinator_that_dies_in_the_last_averaging_is_followed_by_another_one,
                        AsyncSwarm) {
  start_all();
  bool lost = true;
  net.set_filter([&](const NodeId&, const ActorId& to, const actors::Mail& mail) {
    bool last = mail.kind == proto::KIND_END_PERIOD &&
                mail.as<proto::EndPeriod>().period() + 1 == training.steps;
    return lost && last && to.node == nodes["stage1b"].id ? sim::Fate::kDrop : sim::Fate::kDeliver;
  });
  BOOST_TEST(run_to_step(training.steps - 1));
  kill(leader());
  lost = false;
  BOOST_TEST(run_to_end(300s));
  check_equal_replicas();
  check_sums(false);
}

BOOST_FIXTURE_TEST_CASE(who_misses_the_end_fetches_and_saves_it, AsyncSwarm) {
  start_all();
  BOOST_TEST(run_to_step(training.steps - 2));
  kill("stage1b");
  BOOST_TEST(run_to_end(300s));
  start_again("stage1b");
  system.advance(10s);
  check_sums(false);
  check_equal_replicas();
  auto saved = [&](const records::Event& event) {
    return event.name == "checkpointed" && event.stage == 1 &&
           event.step == static_cast<int64_t>(training.steps);
  };
  BOOST_TEST(std::count_if(events->events.begin(), events->events.end(), saved) == 2);
}

BOOST_FIXTURE_TEST_CASE(a_later_state_of_a_period_takes_the_place_of_an_earlier_one, AsyncSwarm) {
  training.steps = 30;
  training.batch = 64;  // time enough within a period
  checkpoint.every_steps = 0;
  start_all();
  BOOST_TEST(run_to_step(3));
  const auto& peer = nodes["stage1a"];
  auto save = [&] {
    auto outcome = std::make_shared<std::string>();
    system->spawn([=, target = peer.stage_server](caf::event_based_actor* self) {
      self->request(target, caf::infinite, actors::make_mail(proto::SaveCheckpoint()))
          .then([=](const actors::Mail&) { *outcome = "saved"; },
                [=](const caf::error& e) { *outcome = to_string(actors::from_caf(e)); });
    });
    system.advance_until([&] { return !outcome->empty(); }, 1s, 100us);
    return *outcome;
  };
  auto stored = [&] {
    const auto steps = peer.store->steps("stage/1");
    BOOST_REQUIRE((steps.ok() && !steps->empty()));
    return std::string(peer.store->get({"stage/1", steps->front()})->view());
  };
  BOOST_TEST(save() == "saved");
  const std::string first = stored();
  const uint64_t updates = peer.arithmetic->updates(),
                 period = peer.store->steps("stage/1")->front();
  BOOST_TEST(system.advance_until([&] { return peer.arithmetic->updates() > updates; }, 1s, 100us));
  BOOST_TEST(save() == "saved");
  BOOST_TEST(peer.store->steps("stage/1")->front() == period);
  BOOST_TEST((stored() != first));
  BOOST_TEST(events->count("checkpoint_failed") == 0u);
}

// The promise had been made before the checks: their errors were dropped, and the coordinator waited
// for two minutes.
BOOST_FIXTURE_TEST_CASE(a_round_that_is_refused_is_refused_at_once, AsyncSwarm) {
  training.steps = 400;
  start_all();
  BOOST_TEST(run_to_step(3));
  auto refusal = [&](proto::EndPeriod message) {
    message.set_term(uint64_t{1024} << routing::kTermNodeBits);
    auto outcome = std::make_shared<ErrorCode>(ErrorCode::kNone);  // not answered
    system->spawn([=, target = nodes["stage1a"].stage_server](caf::event_based_actor* self) {
      self->request(target, caf::infinite, actors::make_mail(message))
          .then([=](const actors::Mail&) { *outcome = ErrorCode::kInternal; },
                [=](const caf::error& e) { *outcome = actors::from_caf(e).code; });
    });
    system.run();
    return *outcome;
  };
  proto::EndPeriod message;
  message.add_members()->set_actor("stage.0");
  const ErrorCode over = refusal(message);  // round 0 is; another one may be under way
  BOOST_TEST((over == ErrorCode::kStaleStep || over == ErrorCode::kOverloaded));
  message.set_round(~uint64_t{0});
  const ErrorCode nameless = refusal(message);  // a member without a node
  BOOST_TEST((nameless == ErrorCode::kInvalidArgument || nameless == ErrorCode::kOverloaded));
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_is_lost_goes_on_from_its_own_snapshot, AsyncSwarm) {
  training.steps = 30;
  start_all();
  BOOST_TEST(run_to_step(8));
  kill("stage1a");
  kill("stage1b");
  system.advance(500ms);
  start_again("stage1a");
  start_again("stage1b");
  BOOST_TEST(run_to_end(300s));
  BOOST_TEST(events->count("recovered") == 1u);
  check_sums(false);
  check_equal_replicas();
  check_lines();
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_takes_its_neighbours_weights, AsyncSwarm) {
  training.steps = 400;
  start_all();
  BOOST_TEST(run_to_step(3));
  add_peer("stage1c", 1);
  BOOST_TEST(run_to_end(300s));
  BOOST_REQUIRE(nodes["stage1c"].arithmetic != nullptr);
  BOOST_TEST(nodes["stage1c"].arithmetic->updates() > 0u);
  bool fetched = false;
  for (const auto& state : events->loaded_states)
    fetched |= state.node_name == "stage1c" && state.source != "seed";
  BOOST_TEST(fetched);
  check_sums(false);
  check_equal_replicas();
}

BOOST_FIXTURE_TEST_CASE(a_newcomer_comes_in_though_it_loads_for_many_periods, AsyncSwarm) {
  training.steps = 400;
  start_all();
  BOOST_TEST(run_to_step(3));
  const auto before = events->steps.size();
  Swarm::add_peer("stage1c", 1, {200ms, 0ms});
  start("stage1c");
  BOOST_TEST(system.advance_until([&] { return admitted("stage1c"); }, 10s, 1ms));
  BOOST_TEST(events->steps.size() > before + 2);
  BOOST_TEST(run_to_end(300s));
  BOOST_REQUIRE(nodes["stage1c"].arithmetic != nullptr);
  BOOST_TEST(nodes["stage1c"].arithmetic->updates() > 0u);
  check_sums(false);
  check_equal_replicas();
}

BOOST_FIXTURE_TEST_CASE(who_comes_in_during_the_last_averaging_ends_like_the_others, AsyncSwarm) {
  start_all();
  // The last averaging takes as long as the newcomer needs.
  bool hold = true;
  net.set_filter([&](const NodeId&, const ActorId&, const actors::Mail& mail) {
    const bool last = mail.kind == proto::KIND_AVERAGE_PART && !events->steps.empty() &&
                      events->steps.back().step + 1 >= training.steps;
    return hold && last ? sim::Fate::kDrop : sim::Fate::kDeliver;
  });
  BOOST_TEST(run_to_step(training.steps - 1));
  add_peer("stage1c", 1);
  BOOST_TEST(system.advance_until([&] { return admitted("stage1c"); }, 10s, 1ms));
  hold = false;
  BOOST_TEST(run_to_end(300s));
  system.advance(5s);
  check_sums(false);
  check_equal_replicas();
}

BOOST_FIXTURE_TEST_CASE(a_stage_whose_actors_failed_comes_back_under_its_node, AsyncSwarm) {
  training.steps = 60;
  start_all();
  BOOST_TEST(run_to_step(3));
  restart_role("stage1a");
  BOOST_TEST(run_to_end(300s));
  check_sums(false);
  check_equal_replicas();
  BOOST_REQUIRE(nodes["stage1a"].arithmetic != nullptr);
  BOOST_TEST(nodes["stage1a"].arithmetic->updates() > 0u);
  // Of the round under way at most; a ghost would fail every one.
  BOOST_TEST(events->count("member_failed") <= 4u);
}

BOOST_FIXTURE_TEST_CASE(a_slow_peer_holds_nobody_up_between_averagings, AsyncSwarm) {
  training.background_averaging = true;
  training.steps = 12;
  Swarm::add_peer("stage1b", 1, {20ms, 0ms});
  start_all();
  BOOST_TEST(run_to_end(300s));
  check_sums();
  check_equal_replicas();
  check_lines();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
