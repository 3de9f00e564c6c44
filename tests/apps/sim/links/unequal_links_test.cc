/// Averaging over links of unequal rates: the real actors, bytes that take time, virtual time
/// (docs/averaging.md, "Parts sized by bandwidth", "Readers").
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "records/catalogue.h"
#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

using Names = std::vector<std::string>;

/// Four peers of stage 0, one of stage 1. All links carry 1 MB/s but those of "s0d".
struct UnequalLinks : testing::SimSwarm {
  static constexpr uint64_t kElements = 20'000;
  static constexpr double kRate = 1e6, kVector_s = 4.0 * kElements / kRate;
  static constexpr const char* kSlow = "s0d";
  static constexpr auto kCompute =
      20ms;  ///< So that a step computes for four rounds of equal links.
  const Names all{"s0a", "s0b", "s0c", kSlow};

  UnequalLinks() {
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
    averager_options.min_part_elements = 100;
    const auto write = observer.event;
    observer.event = [this, write](const std::string& node, const records::Event& event) {
      write(node, event);
      if (const auto averaged = event.as<records::Averaged>())
        rounds_s.push_back(std::chrono::duration<double>(averaged->took).count());
      if (const auto averaged = event.as<records::StageAveraged>(); averaged && event.stage == 0)
        members = averaged->peers;
    };
  }
  void begin(const Names& peers, std::chrono::milliseconds compute, sim::LinkRates slow) {
    for (const auto& name : peers) {
      Swarm::add_peer(name, 0, {compute, 0ms, kElements});
      start(name);
      set_rates(name, name == kSlow ? slow : sim::LinkRates{kRate, kRate});
    }
    Swarm::add_peer("s1a", 1, {1ms, 0ms, kElements});
    start("s1a");
    set_rates("s1a", {kRate, kRate});
    add_trainer("t0");
    add_trainer("t1");
  }
  uint64_t step() const { return events->steps.empty() ? 0 : events->steps.back().step; }
  double now_s() { return std::chrono::duration<double>(system.now().time_since_epoch()).count(); }
  /// Steps per second over the next `time`.
  double pace(std::chrono::seconds time) {
    const uint64_t from = step();
    const double from_s = now_s();
    system.advance(time);
    return static_cast<double>(step() - from) / (now_s() - from_s);
  }
  bool reads(std::chrono::seconds limit = 300s) {
    return system.advance_until([this] { return events->count("became_reader") > 0; }, limit, 5ms);
  }
  /// Invariant I1, of one peer wherever it is.
  bool is_exact(const std::string& name) const {
    const auto* stage = nodes.at(name).arithmetic;
    return closed_so_far().has(Stage(0), stage->step(), stage->parameters());
  }
  /// The slow one has the state of a step that is no older than so many.
  bool keeps_up(uint64_t steps) {
    return system.advance_until(
        [&] {
          const auto* stage = nodes.at(kSlow).arithmetic;
          return stage->step() + steps >= step() && is_exact(kSlow);
        },
        60s, 1ms);
  }

  std::vector<double> rounds_s;
  uint64_t members = 0;  ///< Of the last round of stage 0.
};

/// Steps per second of the swarm when it has settled.
double settled_pace(const Names& peers, sim::LinkRates slow, bool delayed = false) {
  UnequalLinks swarm;
  swarm.training.delayed_updates = delayed;
  swarm.begin(peers, UnequalLinks::kCompute, slow);
  swarm.system.advance(60s);
  const double pace = swarm.pace(120s);
  BOOST_TEST(swarm.events->count("replicas_differ") == 0u);
  BOOST_TEST(swarm.events->count("recovered") == 0u);
  return pace;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(AveragingOverUnequalLinks, UnequalLinks)

// Its work is worth it: a step computes for longer than a round takes.
BOOST_AUTO_TEST_CASE(one_of_four_with_a_tenth_of_the_link_moves_its_own_vector_alone) {
  begin(all, 400ms, {kRate / 10, kRate / 10});
  BOOST_REQUIRE(run_to_step(2));
  const double equal_s = *std::max_element(rounds_s.begin(), rounds_s.end());
  BOOST_TEST(equal_s > 10 * 1.4 * kVector_s);  // 10 (1 + 2/4) is the least with equal parts
  BOOST_REQUIRE(run_to_step(20, 1'000s));
  rounds_s.clear();
  BOOST_REQUIRE(run_to_step(26, 1'000s));
  const double sized_s = *std::max_element(rounds_s.begin(), rounds_s.end());
  BOOST_TEST_MESSAGE("slowest member's round: equal parts " << equal_s << " s, sized parts "
                                                            << sized_s << " s");
  BOOST_TEST(sized_s < 10 * 1.2 * kVector_s);  // 10 is the least of all, without headers
  BOOST_TEST(events->count("became_reader") == 0u);
  BOOST_TEST(is_exact("s0a"));
  BOOST_TEST(is_exact(kSlow));
}

BOOST_AUTO_TEST_CASE(a_link_that_costs_more_than_its_work_reads) {
  const double without = settled_pace({"s0a", "s0b", "s0c"}, {});
  for (const sim::LinkRates slow : {sim::LinkRates{kRate / 10, kRate / 10}, {kRate / 10, kRate}}) {
    UnequalLinks swarm;
    swarm.begin(all, kCompute, slow);
    BOOST_REQUIRE(swarm.run_to_step(1));
    const double from_s = swarm.now_s();
    BOOST_REQUIRE(swarm.reads());
    const double before = static_cast<double>(swarm.step() - 1) / (swarm.now_s() - from_s);
    swarm.system.advance(60s);
    const double with = swarm.pace(120s);
    BOOST_TEST_MESSAGE("steps/s without the machine " << without << ", with it at first " << before
                                                      << ", when it reads " << with);
    BOOST_TEST(with >=
               0.93 * without);  // its votes and heartbeats weigh something beside such vectors
    BOOST_TEST(with >= before);
    BOOST_TEST(swarm.events->count("replicas_differ") == 0u);
    BOOST_TEST(swarm.events->count("recovered") == 0u);
    BOOST_TEST(swarm.is_exact("s0a"));
  }
}

BOOST_AUTO_TEST_CASE(a_reader_has_the_means_of_the_others) {
  begin(all, kCompute, {kRate / 10, kRate});
  BOOST_REQUIRE(reads());
  system.advance(10s);
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST(keeps_up(1));
    system.advance(3s);
  }
}

BOOST_AUTO_TEST_CASE(a_better_link_brings_it_back) {
  begin(all, kCompute, {kRate / 10, kRate});
  BOOST_REQUIRE(reads());
  system.advance(10s);
  set_rates(kSlow, {kRate, kRate});
  rounds_s.clear();
  BOOST_TEST(system.advance_until([this] { return members == 4; }, 400s, 5ms));
  system.advance(200s);  // the first rounds may be judged by what was measured before
  const size_t readers = events->count("became_reader");
  system.advance(100s);
  BOOST_TEST(events->count("became_reader") == readers);
  BOOST_TEST(members == 4u);
  BOOST_TEST(keeps_up(0));
}

BOOST_AUTO_TEST_CASE(with_delayed_updates_a_round_longer_than_a_step_makes_a_reader_too) {
  const double without = settled_pace({"s0a", "s0b", "s0c"}, {}, true);
  const double with = settled_pace(all, {kRate / 10, kRate}, true);
  BOOST_TEST(with >= 0.95 * without);
}

BOOST_AUTO_TEST_CASE(the_others_death_makes_the_reader_serve) {
  begin(all, kCompute, {kRate / 10, kRate});
  BOOST_REQUIRE(reads());
  system.advance(20s);
  for (const char* name : {"s0a", "s0b", "s0c"}) kill(name);
  const uint64_t at = step();
  BOOST_TEST(run_to_step(at + 5, 200s));
  BOOST_TEST(is_exact(kSlow));
  start("s0a");
  BOOST_TEST(system.advance_until(
      [&] { return nodes.at("s0a").arithmetic->step() > at + 5 && is_exact("s0a"); }, 200s, 1ms));
  BOOST_TEST(events->count("replicas_differ") == 0u);
}

BOOST_AUTO_TEST_CASE(a_new_coordinator_and_a_restart_find_it_again) {
  begin(all, kCompute, {kRate / 10, kRate});
  BOOST_REQUIRE(reads());
  system.advance(10s);
  kill("t0");
  system.advance(60s);
  start("t0");
  kill("t1");
  const uint64_t at = step();
  BOOST_TEST(run_to_step(at + 20, 200s));
  kill(kSlow);
  system.advance(5s);
  start(kSlow);
  const size_t readers = events->count("became_reader");
  BOOST_TEST(
      system.advance_until([&] { return events->count("became_reader") > readers; }, 300s, 5ms));
  system.advance(20s);
  BOOST_TEST(keeps_up(1));
  BOOST_TEST(events->count("replicas_differ") == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_with_a_reader_ends_with_equal_replicas) {
  training.steps = 60;
  begin(all, kCompute, {kRate / 10, kRate});
  BOOST_REQUIRE(reads());
  BOOST_REQUIRE(run_to_end(600s));
  BOOST_TEST(
      system.advance_until([this] { return nodes.at(kSlow).arithmetic->step() == 60; }, 60s, 10ms));
  for (const auto& name : all) BOOST_TEST(is_exact(name));
}

BOOST_AUTO_TEST_SUITE_END()
