#include "routing/membership/strikes.h"

#include <algorithm>

namespace swarm::routing {
namespace {

constexpr Time kRests[] = {std::chrono::minutes(1), std::chrono::minutes(5),
                           std::chrono::minutes(30)};
constexpr int kMostRests = sizeof(kRests) / sizeof(kRests[0]);
/// Nodes that had to rest are remembered for so long beyond it.
constexpr Time kRecordKept = std::chrono::hours(2);

}  // namespace

std::optional<Time> Strikes::strike(const NodeId& node, Time now) {
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const Time newest = std::max(it->second.last.value_or(Time()), it->second.rests_until);
    it = now - newest > kRecordKept ? nodes_.erase(it) : std::next(it);
  }
  Record& record = nodes_[node];
  const bool again = record.rests > 0 || (record.last && now - *record.last <= kMemory);
  record.last = now;
  if (!again) return std::nullopt;
  const Time rest = kRests[std::min(record.rests, kMostRests - 1)];
  ++record.rests;
  record.rests_until = now + rest;
  return rest;
}

std::optional<Time> Strikes::rests(const NodeId& node, Time now) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.rests_until <= now) return std::nullopt;
  return found->second.rests_until - now;
}

}  // namespace swarm::routing
