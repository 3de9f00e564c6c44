// The checks of the asynchronous mode find what they are there to find.
#include "apps/sim/period_checks.h"

#include <boost/test/unit_test.hpp>

namespace swarm::sim {
namespace {

using What = StageNote::What;

/// One stage of two replicas, "a" and "b", that trains two periods of two slots.
struct Fixture {
  Fixture() {
    swarm.training.mode = actors::TrainingMode::kAsync;
    swarm.training.steps = 2;
    swarm.training.batch = 4;
    swarm.training.microbatch = 2;
    swarm.num_stages = 1;
    for (const char* name : {"a", "b"}) {
      swarm.add_peer(name, 0);
      swarm.nodes[name].alive = true;
      swarm.nodes[name].arithmetic = name == std::string("a") ? &a : &b;
    }
    a.initialize();
    b.initialize();
  }
  ~Fixture() {
    for (auto& [name, node] : swarm.nodes) node.alive = false;
  }
  static StageNoted watch(Fixture* fixture, const char* name) {
    return [fixture, name](const ArithmeticStage& stage, const StageNote& note) {
      fixture->checks.noted(name, stage, note);
    };
  }
  static void train(ArithmeticStage& stage, uint64_t period, uint32_t slot) {
    tensor::StageInput input;
    input.samples = 2;
    input.sequence = 4;
    const int32_t token = static_cast<int32_t>(3 * period + slot + 1);
    std::string tokens;
    for (int i = 0; i < 10; ++i) tokens.append(reinterpret_cast<const char*>(&token), 4);
    input.tokens = Buffer::from_string(tokens);
    BOOST_REQUIRE(
        stage.forward_backward({Step(period), Slot(slot), Attempt(1)}, input, true, false).ok());
    BOOST_REQUIRE(stage.apply_local(2, period).ok());
  }
  void close(uint64_t period, uint64_t term = 1) {
    records::StepMetrics line;
    line.step = period;
    line.term = term;
    checks.metrics(line);
  }
  template <class Event>
  void event(const Event& fields) {
    checks.event(records::make_event(-1, 0, fields));
  }
  /// Both periods, one slot of each at each replica.
  void train_all() {
    for (uint64_t period : {0, 1}) {
      train(a, period, 0);
      train(b, period, 1);
      close(period);
    }
    close(2);
  }
  static Buffer sent_by(ArithmeticStage& stage) {
    auto sent = stage.to_average(tensor::AveragedPart::kWeights);
    BOOST_REQUIRE(sent.ok());
    return *sent;
  }
  static void take(ArithmeticStage& stage, float mean, const Buffer& sent) {
    std::vector<float> values(kParameters, 0.0f);
    for (uint64_t i = 0; i < kExactParameters; ++i) values[i] = mean * static_cast<float>(i + 1);
    Buffer average = Buffer::from_string(
        std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
    BOOST_REQUIRE(stage.take_average(tensor::AveragedPart::kWeights, average, sent).ok());
  }
  static void average(ArithmeticStage& stage, float mean) { take(stage, mean, sent_by(stage)); }
  /// A round of both, in which so much of the mean is a's.
  void average_both(float of_a) {
    const float mean = of_a * a.parameters()[0] + (1 - of_a) * b.parameters()[0];
    const Buffer sent_a = sent_by(a), sent_b = sent_by(b);
    take(a, mean, sent_a);
    take(b, mean, sent_b);
  }
  /// Both slots of the period at "a", then one at "b"; so a's samples count twice.
  void train_unequally() {
    train(a, 0, 0);
    train(a, 0, 1);
    train(b, 0, 1);
    close(0);
  }
  std::string found() const { return violations.empty() ? "" : violations.front(); }

  Swarm swarm;
  std::vector<std::string> violations;
  PeriodChecks checks{swarm, [this](const std::string& invariant, const std::string& text) {
                        violations.push_back(invariant + " " + text);
                      }};
  ArithmeticStage a{0, {}, 1, watch(this, "a")};
  ArithmeticStage b{0, {}, 2, watch(this, "b")};
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BOOST_FIXTURE_TEST_SUITE(PeriodChecksTest, Fixture)

BOOST_AUTO_TEST_CASE(what_is_right_is_not_complained_of) {
  train_all();
  const float mean = (a.parameters()[0] + b.parameters()[0]) / 2;
  average_both(0.5f);
  BOOST_TEST(b.parameters()[0] == mean);
  checks.at_end({});
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(averages_count_by_samples_since_the_last_one) {
  train_unequally();
  average_both(2.0f / 3);
  train(b, 1, 0);  // who has not trained since counts for nothing
  train(b, 1, 1);
  close(1);
  average_both(0);
  close(2);
  checks.at_end({});
  BOOST_TEST(found() == "");
}

/// A coordinator that took over, and saw no average, counts those of so many periods only.
BOOST_AUTO_TEST_CASE(averages_count_samples_up_to_a_limit_of_whole_periods) {
  for (uint64_t period = 0; period < 2; ++period) {
    train(a, period, 0);
    train(a, period, 1);
    close(period);
  }
  train(b, 1, 0);
  const float of_a = 4.0f / 6;  // 8 samples count as a period's 4, beside 2
  average_both(of_a);
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(averages_that_count_part_of_a_period_are_found) {
  for (uint64_t period = 0; period < 2; ++period) {
    train(a, period, 0);
    train(a, period, 1);
    close(period);
  }
  train(b, 1, 0);
  average_both(3.0f / 5);
  BOOST_TEST(contains(found(), "I2 a takes the average"));
}

/// The swarm gathered while the last snapshot was written, and its end was done again.
BOOST_AUTO_TEST_CASE(the_end_behind_the_last_period_may_be_closed_again_and_a_period_may_not) {
  train_all();
  average_both(0.5f);
  close(2);
  BOOST_TEST(found() == "");
  close(1);
  BOOST_TEST(contains(found(), "I7 period 1 was closed after period 2"));
}

BOOST_AUTO_TEST_CASE(who_joined_late_has_missed_rounds) {
  train(a, 0, 0);
  train(a, 0, 1);
  close(0);
  average(a, a.parameters()[0]);
  records::Event joined = records::make_event(0, 1, records::Joined{"at period 1"});
  checks.event(joined);
  train(b, 1, 0);
  train(a, 1, 1);
  close(1);
  average_both(0.5f);
  close(2);
  checks.at_end({});
  BOOST_TEST(!contains(found(), "took part in"), found());
}

BOOST_AUTO_TEST_CASE(a_mean_that_counts_all_equally_is_found_while_nothing_fails) {
  train_unequally();
  average_both(0.5f);  // as it is where replicas do not build on the same average
  BOOST_TEST(found() == "");
  close(1);
  close(2);
  checks.at_end({});
  BOOST_TEST(contains(found(), "I1 period 1 was closed"));  // nobody has trained on it
  BOOST_TEST(contains(violations.back(), "I1 nothing failed, but b of stage 0 has"));
}

BOOST_AUTO_TEST_CASE(an_average_by_other_weights_is_found) {
  train_unequally();
  average_both(0.8f);
  BOOST_TEST(contains(found(), "I2 a takes the average"));
}

BOOST_AUTO_TEST_CASE(updates_that_no_average_has_are_found) {
  train_all();
  average_both(0.5f);
  train(a, 1, 1);
  checks.at_end({});
  BOOST_TEST(contains(found(), "but a of stage 0 made updates that are in no average"));
}

BOOST_AUTO_TEST_CASE(a_slot_that_a_peer_trains_on_twice_is_found) {
  train(a, 0, 0);
  BOOST_TEST(found() == "");
  train(a, 0, 0);
  BOOST_TEST(contains(found(), "I1 a trains on slot 0 of period 0 a second time"));
}

BOOST_AUTO_TEST_CASE(a_peer_that_starts_again_may_train_on_its_slots_again) {
  train(a, 0, 0);
  checks.before_start("a");
  train(a, 0, 0);
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(a_period_that_closes_before_its_slots_are_trained_is_found) {
  train(a, 0, 0);
  close(0);
  BOOST_TEST(contains(found(), "I1 period 0 was closed, but no peer of stage 0 has trained"));
}

BOOST_AUTO_TEST_CASE(an_average_of_what_nobody_sent_is_found) {
  train_all();
  BOOST_REQUIRE(b.to_average(tensor::AveragedPart::kWeights).ok());
  average(a, -1.0f);
  BOOST_TEST(contains(found(), "I2 a takes the average"));
}

BOOST_AUTO_TEST_CASE(parameters_beyond_all_updates_are_found) {
  train(a, 0, 0);
  average(a, -100.0f);
  BOOST_REQUIRE(violations.size() >= 2u);
  BOOST_TEST(contains(violations[1], "I1 a stage 0, after an average"));
}

BOOST_AUTO_TEST_CASE(parameters_that_tell_of_different_samples_are_found) {
  train_all();
  auto state = a.save_state();
  proto::StageState head;
  BOOST_REQUIRE(head.ParseFromArray(state.data(), static_cast<int>(state.size())));
  float half = a.parameters()[7] / 2;
  std::memcpy(&(*head.mutable_payload())[7 * 4], &half, 4);
  BOOST_REQUIRE(a.load_state(Buffer::from_string(head.SerializeAsString())).ok());
  checks.parameters("a", a, "loaded");
  BOOST_TEST(contains(found(), "parameter 7 tells of other samples"));
}

BOOST_AUTO_TEST_CASE(a_state_that_nobody_saved_is_found) {
  a.save_state();
  records::LoadedState state;
  state.node_name = "b";
  state.source = "a";
  state.checksum = a.checksum();
  checks.loaded("b", state);
  BOOST_TEST(found() == "");
  ++state.checksum;
  checks.loaded("b", state);
  BOOST_TEST(contains(found(), "I2 b loaded stage 0"));
}

BOOST_AUTO_TEST_CASE(a_period_that_is_skipped_is_found) {
  train_all();
  close(4);
  BOOST_TEST(contains(found(), "I7 period 4 was closed after period 2"));
}

BOOST_AUTO_TEST_CASE(a_period_that_the_same_coordinator_closes_twice_is_found) {
  train_all();
  close(1);
  BOOST_TEST(contains(found(), "I7 period 1 was closed after period 2"));
}

BOOST_AUTO_TEST_CASE(after_a_logged_recovery_periods_may_go_back) {
  train_all();
  event(records::Recovered{});
  close(0);
  close(1);
  close(2);
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(a_new_coordinator_may_close_again_what_the_last_one_told_nobody) {
  train_all();
  close(1, 2);
  close(2, 2);
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(a_period_that_never_closes_is_found) {
  train(a, 0, 0);
  train(b, 0, 1);
  close(0);
  checks.at_end({});
  BOOST_TEST(contains(found(), "I7 period 1 was never closed"));
}

BOOST_AUTO_TEST_CASE(an_update_that_is_lost_while_nothing_fails_is_found) {
  train_all();
  average_both(0.5f);
  b.initialize();
  checks.at_end({});
  BOOST_TEST(contains(found(), "I1 nothing failed, but b of stage 0 has 0"));
}

BOOST_AUTO_TEST_CASE(an_update_may_be_lost_in_a_round_that_fails) {
  train_all();
  average_both(0.5f);
  event(records::RoundFailed{});
  b.initialize();
  checks.parameters("b", b, "initialized");
  checks.at_end({});
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(whatever_fails_an_update_that_a_peer_loses_by_itself_is_found) {
  train_all();
  average_both(0.5f);
  event(records::RoundFailed{});
  train(a, 1, 1);
  BOOST_TEST(found() == "");
  a.initialize();  // nobody has told it to
  train(a, 2, 0);
  BOOST_TEST(contains(found(), "I1 a stage 0, after a local update: has"));
}

BOOST_AUTO_TEST_CASE(updates_made_during_a_round_are_kept_beside_its_average) {
  train(a, 0, 0);
  train(b, 0, 1);
  close(0);
  const float mean = (a.parameters()[0] + b.parameters()[0]) / 2;
  const Buffer sent_a = sent_by(a), sent_b = sent_by(b);
  train(a, 1, 0);
  take(a, mean, sent_a);
  take(b, mean, sent_b);
  train(b, 1, 1);
  BOOST_TEST(found() == "");
  close(1);
  average_both(0.5f);
  close(2);
  checks.at_end({});
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(a_round_that_one_is_left_out_of_is_found_while_nothing_fails) {
  train_all();
  average_both(0.5f);
  average(a, a.parameters()[0]);
  checks.at_end({});
  BOOST_TEST(
      contains(found(), "I1 nothing failed, but b of stage 0 took part in 1 rounds and a in 2"));
}

BOOST_AUTO_TEST_CASE(who_was_away_may_have_missed_a_round) {
  train_all();
  average_both(0.5f);
  event(records::PeerLost{});
  average(a, a.parameters()[0]);
  checks.at_end({});
  BOOST_TEST(found() == "");
}

BOOST_AUTO_TEST_CASE(a_trainer_that_is_gone_has_lost_no_update) {
  swarm.add_trainer("t");
  train_all();
  average_both(0.5f);
  b.initialize();
  checks.at_end({});
  BOOST_TEST(contains(found(), "I1 nothing failed, but b of stage 0 has 0"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::sim
