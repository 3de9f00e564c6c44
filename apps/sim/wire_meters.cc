#include "apps/sim/wire_meters.h"

namespace swarm::sim {
namespace {

/// No buffers hide anything here. A mail counts when all of it is there, and mail on several links
/// ends together though each took all the time: a window spans many. By bytes alone one ends only
/// where they take no time to speak of: such a link shows that its node is fast.
LinkMeterOptions exact(double window_s) {
  LinkMeterOptions options;
  options.hidden_bytes = 0;
  options.min_bytes = 1;
  options.full_bytes = 2u << 20;
  options.full_s = window_s;
  return options;
}

}  // namespace

WireMeters::Node::Node(double window_s) : sending(exact(window_s)), receiving(exact(window_s)) {}

void WireMeters::set_busy(TimePoint now, const NodeId& from, const NodeId& to, bool busy) {
  node(from).sending.set_busy(number(to), busy, now);
  node(to).receiving.set_busy(number(from), busy, now);
}

void WireMeters::sent(TimePoint now, const NodeId& from, const NodeId& to) {
  ++under_way_[{from, to}];
  set_busy(now, from, to, true);
}

void WireMeters::ended(TimePoint now, const NodeId& from, const NodeId& to, uint64_t bytes) {
  auto under_way = under_way_.find({from, to});
  if (under_way == under_way_.end()) return;
  node(from).sending.moved(number(to), bytes, now);
  node(to).receiving.moved(number(from), bytes, now);
  if (--under_way->second == 0) lost(now, from, to);
}

void WireMeters::lost(TimePoint now, const NodeId& from, const NodeId& to) {
  if (under_way_.erase({from, to}) > 0) set_busy(now, from, to, false);
}

void WireMeters::tell(TimePoint now, const NodeId& own, actors::LinksStats& stats) {
  auto node = nodes_.find(own);
  if (node == nodes_.end()) return;
  node->second.look(now);
  stats.send_bytes_per_s = node->second.sending.rate();
  stats.receive_bytes_per_s = node->second.receiving.rate();
  for (auto& link : stats.links)
    if (auto other = numbers_.find(link.node.id); other != numbers_.end())
      link.busy_bytes_per_s = node->second.sending.rate(other->second);
}

void WireMeters::tell_averages(TimePoint now, const NodeId& own, actors::LinksStats& stats) {
  auto node = nodes_.find(own);
  if (node == nodes_.end()) return;
  node->second.look(now);
  stats.averages_send_bytes_per_s = node->second.sending.rate();
  stats.averages_receive_bytes_per_s = node->second.receiving.rate();
}

}  // namespace swarm::sim
