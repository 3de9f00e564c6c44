/// A line of history that a node gave up (lines.h): its peers set aside what they have of it before they take part
/// in the one that goes on (docs/one_history.md).
///
/// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/recovery.h"
#include "routing/steps/history.h"

namespace swarm::routing {

/// Steps with their histories, which are all known.
using KnownPlaces = std::set<std::pair<Step, History>>;

/// What there is of the line that goes on: in the memory and on the disks of all peers but `barred`.
KnownPlaces places_of(const std::vector<PeerSupply>& supplies, const std::set<PeerId>& barred);

/// Leaves to the peers of `barred` what others have of the same history: that is from before they parted.
void keep_shared(std::vector<PeerSupply>& supplies, const std::set<PeerId>& barred);

struct LineLeft {
  uint64_t number = 0;  ///< Of the lines that its node has given up, from 1.
  KnownPlaces shared;   ///< With the line that goes on: these snapshots stay.
  /// That one never forked: what was kept from before the other did is its own.
  bool to_first = false;

  bool keeps(Step step, History history) const { return shared.count({step, history}) != 0; }
};

}  // namespace swarm::routing
