/// What a node knows of its own links' rates and queues, as of its last look at LinksStats.
#pragma once

#include <algorithm>
#include <map>

#include "actors/net/links/links.h"

namespace swarm::actors {

/// [bytes/s] while there was something to carry; 0: not known.
struct LinkRates {
  double send = 0;     ///< Of all links together.
  double receive = 0;  ///< Likewise.
  /// Of whatever was carried: each is the least that there is, so the best counts.
  double best_send = 0, best_receive = 0;
  std::map<NodeId, double> slow_pairs;  ///< Sending to one node, where slower than `send`.
  // Of microbatches, waiting to be sent.
  uint64_t queued_bytes = 0;  ///< On all links but those to slow pairs, which hold up nobody else.
  std::map<NodeId, uint64_t> queued_to = {};  ///< To one node, where there are any.

  double to(const NodeId& node) const {
    auto found = slow_pairs.find(node);
    return found == slow_pairs.end() ? 0 : found->second;
  }
  /// Of whatever is sent there; 0: not known.
  double rate(const NodeId& node) const { return to(node) > 0 ? to(node) : send; }
  /// How long a microbatch for `node` waits for those before it [s]: the longer of what the node's
  /// own uplink and what the pair has in its queue. Where neither has a rate nothing is held up.
  double wait_s(const NodeId& node) const {
    double longest_s = send > 0 ? static_cast<double>(queued_bytes) / send : 0;
    const double pair = to(node);
    const auto queued = queued_to.find(node);
    if (pair > 0 && queued != queued_to.end())
      longest_s = std::max(longest_s, static_cast<double>(queued->second) / pair);
    return longest_s;
  }
};

inline LinkRates link_rates(const LinksStats& stats) {
  LinkRates rates;
  rates.send = stats.send_bytes_per_s;
  rates.receive = stats.receive_bytes_per_s;
  rates.best_send = std::max(stats.send_bytes_per_s, stats.averages_send_bytes_per_s);
  rates.best_receive = std::max(stats.receive_bytes_per_s, stats.averages_receive_bytes_per_s);
  for (const LinkStats& link : stats.links) {
    if (link.busy_bytes_per_s > 0) rates.slow_pairs[link.node.id] = link.busy_bytes_per_s;
    if (link.queued_work_bytes == 0) continue;
    if (link.busy_bytes_per_s == 0) rates.queued_bytes += link.queued_work_bytes;
    rates.queued_to[link.node.id] += link.queued_work_bytes;
  }
  return rates;
}

}  // namespace swarm::actors
