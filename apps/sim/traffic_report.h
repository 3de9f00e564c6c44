/// What the nodes of a simulated swarm said to one another, per node and virtual second: what grows
/// with the swarm shows when swarms of several sizes are compared. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/sim/network.h"

namespace swarm::sim {

/// What has been counted up to a moment.
struct TrafficMark {
  double at_s = 0;
  TrafficCounts counts;
};

struct TrafficOptions {
  std::map<NodeId, std::string> names;  ///< Of all nodes that are to be in the report.
  std::map<NodeId, size_t> links;       ///< How many each has.
  NodeId coordinator;                   ///< Has a line of its own; zero: none.
};

/// What a node but the coordinator says on average, sent and received together.
struct NodeTraffic {
  double messages_per_s = 0;
  double bytes_per_s = 0;
  double links = 0;
};
NodeTraffic mean_traffic(const TrafficMark& from, const TrafficMark& to,
                         const TrafficOptions& options);

/// Lines for people about the time between two marks: a node's messages and bytes per second, sent
/// and received together, on average, of the coordinator and of the busiest node; then the same for
/// each kind of mail, the most bytes first. Requires from.at_s < to.at_s and at least one name.
std::vector<std::string> traffic_lines(const std::string& what, const TrafficMark& from,
                                       const TrafficMark& to, const TrafficOptions& options);

}  // namespace swarm::sim
