/// What `swarm bench startup` makes of its measurements. Pure.
#pragma once

#include <string>
#include <vector>

namespace swarm::apps {

struct StartupFigures {
  struct Command {
    std::vector<std::string> arguments;
    std::vector<double> milliseconds;  ///< From fork to exit, one each round.
  };
  struct IdleNodeMemory {
    std::string role;
    double resident_mb = 0;  ///< Megabytes of 10^6 bytes, shared pages included.
  };
  std::vector<Command> commands;
  std::vector<IdleNodeMemory> nodes;
};

/// A table for people and one JSON object {"startup": {"commands": [...], "nodes": [...]}}.
std::string startup_table(const StartupFigures& figures);
std::string startup_json(const StartupFigures& figures);

}  // namespace swarm::apps
