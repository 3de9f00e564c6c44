#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "actors/net/log.h"
#include "apps/bench/bench.h"
#include "apps/bench/figures/dht_figures.h"
#include "apps/sim/dht_trial.h"

namespace swarm::apps {
namespace {

std::chrono::nanoseconds span(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

int bench_dht(const DhtBenchOptions& options) {
  actors::open_log(nullptr, "off", "bench");
  std::vector<DhtFigures> all;
  for (const int nodes : options.nodes) {
    sim::DhtTrialOptions trial;
    trial.nodes = nodes;
    trial.seed = options.seed;
    trial.min_delay = span(options.min_delay_s);
    trial.max_delay = span(std::max(options.min_delay_s, options.max_delay_s));
    trial.killed = options.killed;
    trial.samples = options.samples;
    all.push_back(sim::run_dht_trial(trial));
  }
  const auto text = options.json ? dht_json(all) : dht_table(all);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace swarm::apps
