/// Peers that join while the others train, over links that carry little: the real actors, bytes that
/// take time, virtual time (docs/averaging.md, "Learners").
#include "tests/support/learners.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/state/state_messages.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

using testing::Learners;

/// How often the state would have been downloaded until the peer was in service.
struct Factors {
  double mean = 0, worst = 0;
};

/// Over a link that carries the state in `steps` steps, beginning at different times in a step.
Factors over_a_step(double steps) {
  constexpr int kTimes = 5;
  Factors found;
  for (int i = 0; i < kTimes; ++i) {
    Learners swarm(100'000);
    swarm.state_transfer_options.chunk_bytes = 12'000;  // 100 ranges
    swarm.begin(40ms);
    const double step_s = swarm.step_s();
    const std::chrono::duration<double> part(i * step_s / kTimes);
    swarm.system.advance(std::chrono::duration_cast<std::chrono::nanoseconds>(part));
    const double took = swarm.joins_over(swarm.state_bytes / step_s / steps);
    BOOST_TEST(swarm.events->count("round_failed") == 0u);
    BOOST_TEST(swarm.events->count("load_failed") == 0u);
    found.mean += took / kTimes;
    found.worst = std::max(found.worst, took);
  }
  BOOST_TEST_MESSAGE("mean " << found.mean << ", worst " << found.worst);
  return found;
}

struct DelayedLearners : Learners {
  DelayedLearners() { training.delayed_updates = true; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LearnersOverSlowLinks, Learners)

// What was read before a step ended needs its mean as well, a third of the bytes again: how soon it is
// in service depends on when in a step it began. LearnPlanSuite has the same without a swarm.
BOOST_AUTO_TEST_CASE(a_download_that_takes_a_step_is_in_service_within_1_3_times_its_bytes) {
  const Factors took = over_a_step(1);
  BOOST_TEST(took.mean < 1.3);
  BOOST_TEST(took.worst < 1.5);
}

BOOST_AUTO_TEST_CASE(a_download_that_takes_two_steps_is_in_service_within_1_8_times_its_bytes) {
  const Factors took = over_a_step(2);
  BOOST_TEST(took.mean < 1.8);
  BOOST_TEST(took.worst < 2);
}

// Behind a donor whose link is slow a restarted peer downloaded its state again and again: each was
// of a step that was over when it had come.
BOOST_AUTO_TEST_CASE(a_twin_with_a_slow_link_brings_a_peer_into_service) {
  Swarm::add_peer("s0c", 0, {10ms, 0ms, elements});
  for (const auto& [name, stage] :
       {std::pair{"s0a", 0}, std::pair{"s1a", 1}, std::pair{"s1b", 1}}) {
    Swarm::add_peer(name, stage, {10ms, 0ms, elements});
    start(name);
  }
  add_trainer("t0");
  BOOST_REQUIRE(run_to_step(3));
  set_rates("s0a", {state_bytes * pace(20s) / 1.5, 0});  // a step is shorter than a download
  start("s0c");
  BOOST_REQUIRE(joins(30s));
  joined_at = step();
  BOOST_TEST(becomes_equal());
}

BOOST_AUTO_TEST_CASE(a_capped_download_of_50_steps_disturbs_nobody) {
  begin(10ms);
  const double before = pace(20s);
  state_transfer_options.state_bytes_per_s = state_bytes / 50 * before;
  for (const char* name : {"s0a", "s0b", "s0c"})
    set_rates(name, {2 * mean_bytes * before * 2, 2 * mean_bytes * before * 2});
  const double with_rates = pace(20s);
  start("s0c");
  system.advance(1s);
  const double during = pace(8s);
  BOOST_TEST(!joined_s.has_value());
  BOOST_TEST(during > 0.9 * with_rates);
  BOOST_REQUIRE(joins(200s));
  BOOST_TEST(took_s() < 1.2 * state_bytes / state_transfer_options.state_bytes_per_s);
  joined_at = step();
  BOOST_TEST(becomes_equal());
}

// A mean took longer to come than a step to fill: it came in during every round, had no average at the
// commit, and went back for the mean.
BOOST_AUTO_TEST_CASE(where_rounds_are_longer_than_the_filling_it_gets_into_one) {
  begin(10ms);
  const double filling_s = step_s();
  for (const char* name : {"s0a", "s0b", "s0c"})
    set_rates(name, {mean_bytes / (2 * filling_s), mean_bytes / (2 * filling_s)});
  start("s0c");
  BOOST_REQUIRE(joins(200s));
  const size_t sent_back = events->count("suspended");
  const uint64_t from = step();
  BOOST_REQUIRE(system.advance_until([&] { return step() >= from + 30; }, 300s, 10ms));
  BOOST_TEST(events->count("suspended") <= sent_back + 4);
  size_t committed = 0;
  for (const auto& line : events->committed_steps)
    committed += line.held.node_name == "s0c" ? 1 : 0;
  BOOST_TEST(committed > 15u);
  joined_at = step();
  BOOST_TEST(becomes_equal());
}

// The parts' time was over before the round's, by less than a millisecond, so no round ever learned that it
// takes longer: each was given up after 0.75 s, for ever.
BOOST_AUTO_TEST_CASE(where_links_become_slow_rounds_get_the_time_that_they_need) {
  begin(10ms);
  const double filling_s = step_s();
  for (const double fillings : {3.0, 10.0, 30.0}) {
    for (const char* name : {"s0a", "s0b"})
      set_rates(name, {mean_bytes / (fillings * filling_s), mean_bytes / (fillings * filling_s)});
    const uint64_t from = step();
    BOOST_TEST(system.advance_until([&] { return step() >= from + 2; }, 200s, 10ms), fillings);
  }
}

// Means were kept only once somebody had asked: who missed an update had to fetch its whole state.
BOOST_AUTO_TEST_CASE(who_was_away_for_a_step_needs_its_mean_only) {
  std::optional<records::Restored> restored;
  const auto write = observer.event;
  observer.event = [&](const std::string& node, const records::Event& event) {
    write(node, event);
    if (node == "s0c" && event.is<records::Restored>()) restored = event.as<records::Restored>();
  };
  begin(400ms);
  start("s0c");
  BOOST_REQUIRE(joins(200s));
  const uint64_t joined = step();
  BOOST_REQUIRE(system.advance_until([&] { return step() >= joined + 8; }, 300s, 10ms));
  system.advance(31s);  // nobody has asked for long
  restored.reset();
  joined_s.reset();
  pause("s0c");
  system.advance(7s);  // its links are given up
  const uint64_t missed = step();
  BOOST_REQUIRE(system.advance_until([&] { return step() > missed; }, 60s, 10ms));
  resume("s0c");
  joined_at = step();
  BOOST_TEST(becomes_equal());
  BOOST_REQUIRE(restored.has_value());
  BOOST_TEST(static_cast<double>(restored->bytes) <= 2 * mean_bytes);
}

// A copy was handed out as the newest state after that had been given up.
BOOST_AUTO_TEST_CASE(a_state_that_is_given_up_while_it_is_copied_is_no_state) {
  Swarm::add_peer("s0c", 0, {/*compute=*/30ms, 0ms, elements});
  begin(40ms);
  start("s0c");
  BOOST_REQUIRE(joins(200s));
  pause("s0c");
  system.advance(12s);
  resume("s0c");
  int answered = 0, refused = 0;
  const auto ask = [&, server = nodes.at("s0c").stage_server](caf::event_based_actor* self) {
    self->request(server, caf::infinite, actors::freeze_atom::value)
        .then(
            [&answered, self, server](const actors::FrozenState& frozen) {
              ++answered;
              self->request(server, caf::infinite, actors::describe_atom::value)
                  .then([step = frozen.step](const std::string& text) {
                    const auto told = fmt::format("updates applied {},", step);
                    BOOST_TEST(text.find(told) != std::string::npos, told << " in " << text);
                  });
            },
            [&refused](const caf::error&) { ++refused; });
  };
  for (int i = 0; i < 400; ++i) {
    system->spawn(ask);
    system.advance(5ms);
  }
  system.advance(20s);
  BOOST_TEST(answered > 0);
  BOOST_TEST(refused > 0);
}

BOOST_AUTO_TEST_CASE(a_link_too_slow_for_the_means_is_told_and_nobody_waits) {
  begin(10ms);
  const double before = pace(20s);
  set_rates("s0c", {0, 0.4 * mean_bytes * before});
  start("s0c");
  system.advance(5s);
  const double during = pace(30s);
  BOOST_TEST(during > 0.95 * before);
  BOOST_TEST(told_s.has_value());
  BOOST_TEST(!joined_s.has_value());
  BOOST_TEST(events->count("round_failed") == 0u);
  set_rates("s0c", {0, 1e6});  // and it tries again
  BOOST_REQUIRE(joins(60s));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(LearnersWithDelayedUpdates, DelayedLearners)

BOOST_AUTO_TEST_CASE(a_download_that_takes_a_step_ends_in_service) {
  begin(40ms);
  joins_over(state_bytes * pace(20s));
}

BOOST_AUTO_TEST_SUITE_END()
