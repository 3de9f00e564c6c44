/// A small swarm that a peer joins over links that carry little: the real actors, bytes that take
/// time, virtual time (docs/averaging.md, "Learners").
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "records/catalogue.h"
#include "tests/support/sim_swarm.h"

namespace swarm::testing {

/// Two stages; "s0c", the third of its stage, comes when the others have trained for a while.
struct Learners : SimSwarm {
  const uint64_t elements;
  const double mean_bytes = 4.0 * static_cast<double>(elements), state_bytes = 3 * mean_bytes;

  explicit Learners(uint64_t the_elements = 20'000) : elements(the_elements) {
    sim::NetworkModel model;
    model.min_delay = std::chrono::microseconds(500);
    model.max_delay = std::chrono::milliseconds(1);
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
  /// Taking a range is no pass of a microbatch.
  sim::MachineTimes times(std::chrono::milliseconds compute) const {
    const std::chrono::milliseconds job(1);
    return {job, std::chrono::nanoseconds(0), elements, compute - job};
  }
  void begin(std::chrono::milliseconds compute) {
    for (const auto& [name, stage] :
         {std::pair{"s0a", 0}, std::pair{"s0b", 0}, std::pair{"s1a", 1}, std::pair{"s1b", 1}}) {
      Swarm::add_peer(name, stage, times(compute));
      start(name);
    }
    if (nodes.count("s0c") == 0) Swarm::add_peer("s0c", 0, times(compute));
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
  /// [s], over a few steps from commit to commit.
  double step_s() {
    const auto committed = [this](uint64_t wanted) {
      return system.advance_until([this, wanted] { return step() >= wanted; },
                                  std::chrono::seconds(60), std::chrono::milliseconds(1));
    };
    BOOST_REQUIRE(committed(step() + 1));
    const uint64_t from = step();
    const double from_s = now_s();
    BOOST_REQUIRE(committed(from + 10));
    return (now_s() - from_s) / static_cast<double>(step() - from);
  }
  bool joins(std::chrono::seconds limit) {
    return system.advance_until([this] { return joined_s.has_value(); }, limit,
                                std::chrono::milliseconds(5));
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
        std::chrono::seconds(30), std::chrono::milliseconds(1));
  }
  /// "s0c" comes over such a link. Returns how often its state would have been downloaded until it
  /// was in service.
  double joins_over(double bytes_per_s) {
    set_rates("s0c", {0, bytes_per_s});
    start("s0c");
    BOOST_REQUIRE(joins(std::chrono::seconds(200)));
    joined_at = step();
    BOOST_TEST(becomes_equal());
    BOOST_TEST(events->count("replicas_differ") == 0u);
    return took_s() / (state_bytes / bytes_per_s);
  }

  std::optional<double> began_s, joined_s, told_s;
  uint64_t joined_at = 0;
};

}  // namespace swarm::testing
