/// Peers that join while the others train, over links that carry little: the real actors, bytes that
/// take time, virtual time (docs/averaging.md, "Learners").
#include <boost/test/unit_test.hpp>

#include "records/catalogue.h"
#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

/// Two stages; "s0c", the third of its stage, comes when the others have trained for a while.
struct Learners : testing::SimSwarm {
  static constexpr uint64_t kElements = 20'000;
  static constexpr double kMeanBytes = 4.0 * kElements, kStateBytes = 12.0 * kElements;

  Learners() {
    sim::NetworkModel model;
    model.min_delay = 500us;
    model.max_delay = 1ms;
    net.set_model(model, 1);
    training.steps = 1'000'000;
    num_stages = 2;
    training.batch = 64;
    training.microbatch = 2;
    checkpoint.every_steps = 0;
    averager_options.chunk_elements = 1'000;
    state_transfer_options.chunk_bytes = 6'000;
    const auto write = observer.event;
    observer.event = [this, write](const std::string& node, const records::Event& event) {
      write(node, event);
      if (node == "s0c" && event.is<records::Learns>() && !began_s) began_s = now_s();
      if (node == "s0c" && event.is<records::Joined>()) joined_s = now_s();
      if (node == "s0c" && event.is<records::LearnerTooSlow>()) told_s = now_s();
    };
  }
  void begin(std::chrono::milliseconds compute) {
    for (const auto& [name, stage] :
         {std::pair{"s0a", 0}, std::pair{"s0b", 0}, std::pair{"s1a", 1}, std::pair{"s1b", 1}}) {
      Swarm::add_peer(name, stage, {compute, 0ms, kElements});
      start(name);
    }
    Swarm::add_peer("s0c", 0, {compute, 0ms, kElements});
    add_trainer("t0");
    add_trainer("t1");
    BOOST_REQUIRE(run_to_step(3));
  }
  double now_s() { return std::chrono::duration<double>(system.now().time_since_epoch()).count(); }
  uint64_t step() const { return events->steps.empty() ? 0 : events->steps.back().step; }
  /// Steps per second over the next `time`.
  double pace(std::chrono::seconds time) {
    const uint64_t from = step();
    const double from_s = now_s();
    system.advance(time);
    return static_cast<double>(step() - from) / (now_s() - from_s);
  }
  bool joins(std::chrono::seconds limit) {
    return system.advance_until([this] { return joined_s.has_value(); }, limit, 5ms);
  }
  double took_s() const { return *joined_s - *began_s; }
  /// I2, moments included, once both are at one step.
  bool becomes_equal() {
    return system.advance_until(
        [this] {
          const auto *a = nodes.at("s0a").arithmetic, *c = nodes.at("s0c").arithmetic;
          return c->step() > joined_at && a->step() == c->step() &&
                 a->checksum() == c->checksum() &&
                 a->state().moments_checksum() == c->state().moments_checksum();
        },
        30s, 1ms);
  }
  /// "s0c" comes over such a link. Returns how often its state would have been downloaded until it
  /// was in service.
  double joins_over(double bytes_per_s) {
    set_rates("s0c", {0, bytes_per_s});
    start("s0c");
    BOOST_REQUIRE(joins(200s));
    joined_at = step();
    BOOST_TEST(becomes_equal());
    BOOST_TEST(events->count("replicas_differ") == 0u);
    return took_s() / (kStateBytes / bytes_per_s);
  }

  std::optional<double> began_s, joined_s, told_s;
  uint64_t joined_at = 0;
};

struct DelayedLearners : Learners {
  DelayedLearners() { training.delayed_updates = true; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(LearnersOverSlowLinks, Learners)

BOOST_AUTO_TEST_CASE(a_download_that_takes_a_step_is_in_service_soon_after_it) {
  begin(40ms);
  BOOST_TEST(joins_over(kStateBytes * pace(20s)) < 1.6);
  BOOST_TEST(events->count("round_failed") == 0u);
}

// The means take two thirds of such a link; how soon it is in service depends on when in a step it has
// all: see LearnPlanSuite for the average.
BOOST_AUTO_TEST_CASE(a_download_that_takes_two_steps_ends_in_service) {
  begin(40ms);
  BOOST_TEST(joins_over(kStateBytes * pace(20s) / 2) < 3);
  BOOST_TEST(events->count("round_failed") == 0u);
}

// Behind a donor whose link is slow a restarted peer downloaded its state again and again: each was
// of a step that was over when it had come.
BOOST_AUTO_TEST_CASE(a_twin_with_a_slow_link_brings_a_peer_into_service) {
  Swarm::add_peer("s0c", 0, {10ms, 0ms, kElements});
  for (const auto& [name, stage] :
       {std::pair{"s0a", 0}, std::pair{"s1a", 1}, std::pair{"s1b", 1}}) {
    Swarm::add_peer(name, stage, {10ms, 0ms, kElements});
    start(name);
  }
  add_trainer("t0");
  BOOST_REQUIRE(run_to_step(3));
  set_rates("s0a", {kStateBytes * pace(20s) / 1.5, 0});  // a step is shorter than a download
  start("s0c");
  BOOST_REQUIRE(joins(30s));
  joined_at = step();
  BOOST_TEST(becomes_equal());
}

BOOST_AUTO_TEST_CASE(a_capped_download_of_50_steps_disturbs_nobody) {
  begin(10ms);
  const double before = pace(20s);
  state_transfer_options.state_bytes_per_s = kStateBytes / 50 * before;
  for (const char* name : {"s0a", "s0b", "s0c"})
    set_rates(name, {2 * kMeanBytes * before * 2, 2 * kMeanBytes * before * 2});
  const double with_rates = pace(20s);
  start("s0c");
  system.advance(1s);
  const double during = pace(8s);
  BOOST_TEST(!joined_s.has_value());
  BOOST_TEST(during > 0.9 * with_rates);
  BOOST_REQUIRE(joins(200s));
  BOOST_TEST(took_s() < 1.2 * kStateBytes / state_transfer_options.state_bytes_per_s);
  joined_at = step();
  BOOST_TEST(becomes_equal());
}

BOOST_AUTO_TEST_CASE(a_link_too_slow_for_the_means_is_told_and_nobody_waits) {
  begin(10ms);
  const double before = pace(20s);
  set_rates("s0c", {0, 0.4 * kMeanBytes * before});
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
  joins_over(kStateBytes * pace(20s));
}

BOOST_AUTO_TEST_SUITE_END()
