/// What a node knows of its own links' rates, as of its last look at LinksStats.
#pragma once

#include <map>

#include "actors/net/links/links.h"

namespace swarm::actors {

/// [bytes/s] while there was something to carry; 0: not known.
struct LinkRates {
  double send = 0;                      ///< Of all links together.
  double receive = 0;                   ///< Likewise.
  std::map<NodeId, double> slow_pairs;  ///< Sending to one node, where slower than `send`.

  double to(const NodeId& node) const {
    auto found = slow_pairs.find(node);
    return found == slow_pairs.end() ? 0 : found->second;
  }
};

inline LinkRates link_rates(const LinksStats& stats) {
  LinkRates rates{stats.send_bytes_per_s, stats.receive_bytes_per_s, {}};
  for (const LinkStats& link : stats.links)
    if (link.busy_bytes_per_s > 0) rates.slow_pairs[link.node.id] = link.busy_bytes_per_s;
  return rates;
}

}  // namespace swarm::actors
