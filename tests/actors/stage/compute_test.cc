// The compute actor of a device that was made slower (nodes.delay_s), in virtual time.
#include "actors/stage/compute.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "apps/sim/arithmetic_stage.h"
#include "apps/sim/deterministic_system.h"

using namespace swarm;
using namespace swarm::actors;
using namespace std::chrono_literals;

namespace {

struct Done {
  std::string job;
  double seconds = 0;
  std::chrono::milliseconds at{};
  bool ok = true;
};

struct Device {
  explicit Device(std::chrono::duration<double> pass_delay) {
    auto make = []() -> Result<std::unique_ptr<tensor::Stage>> {
      return std::unique_ptr<tensor::Stage>(std::make_unique<sim::ArithmeticStage>(0));
    };
    actor = system.own(spawn_compute(*system, make, /*detached=*/false, pass_delay));
    caf::anon_send(actor, compute_atom::value);
    system.run();
  }

  /// Asks for all jobs at once, in this order.
  void ask(const std::vector<std::pair<std::string, int>>& jobs) {
    system.own(system->spawn([this, jobs](caf::event_based_actor* self) {
      for (const auto& [name, passes] : jobs)
        compute<bool>(
            self, actor,
            [this, job = name](tensor::Stage&) -> Result<bool> {
              ran.push_back(job);
              if (job == "broken") throw std::runtime_error("broken");
              return true;
            },
            [this, job = name](Result<bool> result, double seconds) {
              done.push_back({job, seconds, now, result.ok()});
            },
            passes);
    }));
    system.run();
  }

  void advance(std::chrono::milliseconds time) {
    for (; time > 0ms; time -= 1ms) {
      now += 1ms;
      system.advance(1ms);
    }
  }

  sim::DeterministicSystem system;
  caf::actor actor;
  std::chrono::milliseconds now{};
  std::vector<std::string> ran;
  std::vector<Done> done;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(DelayedCompute)

BOOST_AUTO_TEST_CASE(a_device_without_a_delay_answers_at_once) {
  Device device(0s);
  device.ask({{"forward", 1}, {"drop", 0}});
  BOOST_REQUIRE(device.done.size() == 2u);
  BOOST_TEST(device.done[0].job == "forward");
  BOOST_TEST(device.done[0].seconds < 0.2);
}

BOOST_AUTO_TEST_CASE(every_pass_takes_the_delay_longer_and_counts_it_as_computing) {
  Device device(250ms);
  device.ask({{"forward", 1}});
  device.advance(249ms);
  BOOST_TEST(device.done.empty());
  device.advance(1ms);
  BOOST_REQUIRE(device.done.size() == 1u);
  BOOST_TEST(device.done[0].seconds >= 0.25);
  BOOST_TEST(device.done[0].seconds < 0.45);
  device.ask({{"both", 2}});
  device.advance(499ms);
  BOOST_TEST(device.done.size() == 1u);
  device.advance(1ms);
  BOOST_REQUIRE(device.done.size() == 2u);
  BOOST_TEST(device.done[1].seconds >= 0.5);
}

BOOST_AUTO_TEST_CASE(jobs_wait_for_their_turn_and_are_answered_in_order) {
  Device device(100ms);
  device.ask({{"forward", 1}, {"update", 0}, {"broken", 1}, {"backward", 1}, {"drop", 0}});
  BOOST_TEST(device.ran == (std::vector<std::string>{"forward"}));
  device.advance(100ms);
  BOOST_TEST(device.ran == (std::vector<std::string>{"forward", "update", "broken", "backward"}));
  device.advance(100ms);
  std::vector<std::string> order;
  for (const auto& done : device.done) {
    order.push_back(done.job);
    BOOST_TEST(done.ok == (done.job != "broken"), done.job);
  }
  BOOST_TEST(order ==
             (std::vector<std::string>{"forward", "update", "broken", "backward", "drop"}));
  BOOST_TEST(device.done[1].at.count() == 100);  // at the end of the forward pass, no later
  BOOST_TEST(device.done[3].at.count() == 200);
}

BOOST_AUTO_TEST_SUITE_END()
