/// The invariant of placement: no stage falls below its floor of peers by a decision (docs/elastic.md), only by
/// deaths. Looked at when a mover ends serving, by what is so and not by what the coordinator knows. And nobody takes
/// over a stage that has a peer.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "apps/sim/mode_checks.h"
#include "apps/sim/swarm.h"

namespace swarm::sim {

class FloorChecks {
 public:
  /// `swarm` outlives this.
  FloorChecks(Swarm& swarm, ModeChecks::Report report)
      : swarm_(swarm), report_(std::move(report)) {}

  void event(const records::Event& event);
  /// At any moment between two pieces of mail.
  void now();
  /// A mover serves `from` no more.
  void moved(const std::string& node, int from);

 private:
  struct Seen {
    int stage = -1;  ///< Whose state it had.
    caf::actor_clock::time_point first, last;
  };
  Swarm& swarm_;
  ModeChecks::Report report_;
  struct Process {
    int stage = -1;
    DeterministicSystem::Owner owner = DeterministicSystem::kNobody;
    caf::actor_clock::time_point since;
  };
  /// A stage is said to be lost.
  void taken_over(const std::string& by, int stage);
  void conscripted(const std::string& node, int from);
  std::map<std::string, Seen> seen_;
  std::map<std::string, Process> running_;  ///< That serve a stage, or learn to.
  std::map<std::string, std::string> why_;  ///< Of a node's last order.
};

}  // namespace swarm::sim
