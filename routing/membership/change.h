/// A change of the configuration under way: who has stored it, and whether it holds.
///
/// Pure. One owner: the coordinator that asks for it.
#pragma once

#include <string>

#include "routing/membership/configuration.h"

namespace swarm::routing {

struct Change {
  Configuration from, to;
  Voters stored;  ///< Who says that it is on its disk.

  Count old_count() const { return count(from.voters, stored); }
  Count new_count() const { return count(to.voters, stored); }
  /// Stored by more than half of both. Where nobody voted before, of the new one; one that is forced, by
  /// all of the new one.
  bool holds() const {
    if (to.forced()) return count(to.voters, stored).missing.empty();
    return new_count().most() && (from.voters.empty() || old_count().most());
  }
};

}  // namespace swarm::routing
