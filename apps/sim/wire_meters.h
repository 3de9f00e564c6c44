/// What simulated nodes see of their links' rates, as real nodes do
/// (actors/net/links/busy_meters.h); mail counts when its last byte has arrived. One for microbatches,
/// one for parts of averages.
///
/// Pure: time is an argument. Not thread-safe; one owner.
#pragma once

#include <map>
#include <utility>

#include "actors/net/links/links.h"
#include "common/ids.h"
#include "common/link_meter.h"

namespace swarm::sim {

class WireMeters {
 public:
  using TimePoint = LinkMeter::TimePoint;

  /// A window spans so many busy seconds (LinkMeterOptions::full_s).
  explicit WireMeters(double window_s) : window_s_(window_s) {}

  /// Mail sets out. What nothing holds up ends in the same moment: a fast link.
  void sent(TimePoint now, const NodeId& from, const NodeId& to);
  /// It has arrived, or (`bytes` 0) was taken back.
  void ended(TimePoint now, const NodeId& from, const NodeId& to, uint64_t bytes);
  /// Whatever was under way is lost.
  void lost(TimePoint now, const NodeId& from, const NodeId& to);
  /// Fills in what `own` knows.
  void tell(TimePoint now, const NodeId& own, actors::LinksStats& stats);
  /// Likewise, of a meter of averages.
  void tell_averages(TimePoint now, const NodeId& own, actors::LinksStats& stats);

 private:
  struct Node {
    LinkMeter sending, receiving;
    explicit Node(double window_s);
    void look(TimePoint now) {
      sending.look(now);
      receiving.look(now);
    }
  };
  Node& node(const NodeId& id) { return nodes_.try_emplace(id, window_s_).first->second; }
  uint64_t number(const NodeId& id) {
    return numbers_.try_emplace(id, numbers_.size()).first->second;
  }

  void set_busy(TimePoint now, const NodeId& from, const NodeId& to, bool busy);

  double window_s_;
  std::map<NodeId, Node> nodes_;
  std::map<std::pair<NodeId, NodeId>, int> under_way_;
  std::map<NodeId, uint64_t> numbers_;
};

}  // namespace swarm::sim
