/// Nodes whose results are wrong: once may be chance, twice is the machine. Such a node rests, longer
/// each time, so that it cannot hold its stage up for ever.
///
/// Pure: time is an argument.
#pragma once

#include <map>
#include <optional>

#include "common/ids.h"
#include "routing/time.h"

namespace swarm::routing {

class Strikes {
 public:
  /// A strike is forgotten after that.
  static constexpr Time kMemory = std::chrono::minutes(10);

  /// Something of `node` was wrong. How long it rests from now on: the second within kMemory and each
  /// one after; 1, 5, then 30 minutes.
  std::optional<Time> strike(const NodeId& node, Time now);
  /// How long it still rests.
  std::optional<Time> rests(const NodeId& node, Time now) const;

 private:
  struct Record {
    std::optional<Time> last;
    Time rests_until{};
    int rests = 0;
  };
  std::map<NodeId, Record> nodes_;
};

}  // namespace swarm::routing
