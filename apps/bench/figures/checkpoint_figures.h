/// What `swarm bench checkpoint` makes of its measurements. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::apps {

/// One each round, in seconds. CPU is of all threads of the process, which does nothing else.
struct CheckpointFigures {
  uint64_t parameters = 0;
  uint64_t bytes = 0;  ///< Of a snapshot: parameters, moments, head.
  std::vector<double>
      freeze_s;  ///< The stage's thread copies its state; nothing is computed meanwhile.
  std::vector<double> write_s;        ///< The store makes it durable, and drops the one before.
  std::vector<double> raw_s;          ///< The same bytes into a plain file, and fsync.
  std::vector<double> cpu_s;          ///< Of freezing and writing.
  std::vector<double> quiet_steps_s;  ///< Training steps during which no snapshot was made ...
  std::vector<double> busy_steps_s;   ///< ... and those during which one was.
};

/// Seconds of CPU for 100 million parameters, median.
double cpu_per_100_million(const CheckpointFigures& figures);
/// Of a plain file's rate, what the store reaches. Of the rounds' ratios the median: disks drift.
double share_of_raw(const CheckpointFigures& figures);
/// The longest step with a snapshot by the median of those without. 0 without both.
double longest_step(const CheckpointFigures& figures);

/// A table for people and one JSON object {"checkpoint": {...}}.
std::string checkpoint_table(const CheckpointFigures& figures);
std::string checkpoint_json(const CheckpointFigures& figures);

}  // namespace swarm::apps
