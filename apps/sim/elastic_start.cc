#include "apps/sim/elastic_start.h"

#include <fmt/format.h>

#include <algorithm>

namespace swarm::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kDraws = 0xe1a5, kGoneDraws = 0x90e5;
constexpr uint64_t kFewestNodes = 7, kMostNodes = 14;
constexpr uint64_t kFewestSteps = 15, kMostSteps = 40;
/// There are three times as many periods.
constexpr uint64_t kMostPeriods = 15;

}  // namespace

ElasticStart::ElasticStart(Swarm& swarm, uint64_t seed, bool copies, bool asynchronous)
    : swarm_(swarm),
      seed_(seed),
      random_(seed ^ kDraws),
      copies_(copies),
      asynchronous_(asynchronous),
      nodes_(static_cast<uint32_t>(kFewestNodes + random_.below(kMostNodes - kFewestNodes + 1))) {}

void ElasticStart::set_options() {
  auto& placement = swarm_.coordinator_options.placement;
  placement.moves = true;
  placement.period = random_.spread(milliseconds(300), seconds(4));
  placement.floor = 1 + static_cast<uint32_t>(random_.below(3));
  placement.busy_from = random_.chance(0.5) ? 0.0 : 0.5;
  placement.hysteresis = random_.chance(0.5) ? 0.15 : 0.05;
  placement.warm_up = random_.spread(milliseconds(10), seconds(10));
  placement.rest_periods = static_cast<uint32_t>(random_.below(3));
  if (copies_) {
    swarm_.checkpoint.copies = 1 + static_cast<uint32_t>(random_.below(2));
    placement.gone_after = Random(seed_ ^ kGoneDraws).spread(seconds(5), seconds(15));
  }
  const uint64_t steps = kFewestSteps + random_.below(kMostSteps - kFewestSteps + 1);
  swarm_.training.steps =
      static_cast<uint32_t>(asynchronous_ ? std::min(steps, kMostPeriods) : steps);
}

/// One stage has all but one peer of each other, or all are drawn; some have none.
void ElasticStart::add_peers(uint32_t peers, std::chrono::nanoseconds fsync) {
  const auto compute = random_.spread(milliseconds(3), milliseconds(40));
  const uint32_t stages = swarm_.num_stages;
  const auto full = static_cast<int>(random_.below(stages));
  const bool drawn = random_.chance(0.3);
  const double none = random_.chance(0.5) ? 0.3 : 0, late = random_.chance(0.5) ? 0.3 : 0;
  for (uint32_t i = 0; i < peers; ++i) {
    int stage = i < stages ? static_cast<int>(i % stages)
                : drawn    ? static_cast<int>(random_.below(stages))
                           : full;
    if (i >= stages && random_.chance(none)) stage = actors::kAnyStage;
    const std::string name = fmt::format("p{}", static_cast<char>('a' + i % 26)) +
                             (i < 26 ? std::string() : std::to_string(i / 26));
    swarm_.add_peer(name, stage, {random_.spread(compute / 2, compute * 2), fsync});
    if (i >= stages && random_.chance(late))
      late_[name] = random_.between(milliseconds(500), seconds(12));
  }
}

std::vector<std::string> ElasticStart::start_late(std::chrono::nanoseconds time) {
  std::vector<std::string> started;
  for (const auto& [name, after] : late_) {
    if (swarm_.nodes.at(name).port != 0 || time < after) continue;
    swarm_.start(name);
    started.push_back(name);
  }
  return started;
}

}  // namespace swarm::sim
