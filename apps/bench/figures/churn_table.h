/// The tables of `swarm bench churn` (docs/elastic.md). Pure but for what tells the time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/bench/figures/churn_replay.h"

namespace swarm::apps {

/// What a swarm does about churn.
struct ChurnArm {
  bool places = false, moves = false;
  double period_s = 0;  ///< 0: nothing happens every period.

  std::string name() const;
};

/// Means over seeds.
struct ChurnFigures {
  double all = 0, first_hour = 0, last_hour = 0;      ///< Of the optimum.
  double all_divisible = 0, last_hour_divisible = 0;  ///< Of alive / stages, not rounded down.
  double moves_per_h = 0, moved_bytes_per_h = 0;
  double empty_s = 0, too_few_s = 0;  ///< Of a run.
  double mean_alive = 0;
  double replay_s = 0;  ///< That a run's replay took.
};

struct ChurnTableOptions {
  uint64_t seeds = 10;  ///< 1, 2, ...
  ChurnCosts costs;
  uint32_t floor = 2;
  bool json = false;                  ///< An object a line.
  std::function<double()> seconds{};  ///< A clock; without it replays take no time.
};

/// Of traces drawn from the profile, one a seed.
ChurnFigures run_churn(const ChurnProfile& profile, const ChurnArm& arm,
                       const ChurnTableOptions& options);

using Print = std::function<void(const std::string&)>;
/// All arms, judged by their bars; returns how many were missed.
int day_table(const ChurnTableOptions& options, const Print& print);
int stress_table(const ChurnTableOptions& options, const Print& print);
/// All arms on one trace, whoever wrote it down; seeds are of what the swarm draws by lot. Nothing is judged.
void trace_table(const ChurnProfile& profile, const ChurnTrace& trace, double period_s,
                 const ChurnTableOptions& options, const Print& print);
/// 100 to 10,000 peers in 4 to 32 stages: doing nothing beside both; one seed. `most_peers` leaves larger ones out.
void size_table(const ChurnTableOptions& options, uint32_t most_peers, const Print& print);

}  // namespace swarm::apps
