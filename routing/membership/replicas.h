/// Whether the peers of a stage have the same bits, by what they told the coordinator. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/odd_replicas.h"
#include "routing/membership/roster.h"
#include "routing/state/state_label.h"

namespace swarm::routing {

/// Invariant I2: replicas of a stage are bit-identical.
struct ReplicaComparison {
  std::set<uint64_t> checksums;  ///< One: they are equal.
  size_t replicas = 0;
};

/// Of one peer with its replicas.
enum class Bits { kEqual, kOther, kNotKnown };

/// Looks at a roster, which must outlive it.
class Replicas {
 public:
  explicit Replicas(const Roster& roster) : roster_(roster) {}

  /// Replicas that trained apart from one another have the same step and other bits. Requires a
  /// peer of the roster.
  Bits compare(const PeerId& id) const;
  /// What a peer will have that fetches the state at `step`: as those of its stage who have it, and are
  /// believed, say; nothing if nobody says it or they differ. Requires a peer of the roster.
  std::optional<StateLabel> word_for(const PeerId& id, Step step) const;
  /// The serving ones of a stage at `step`; nothing while one of them has not answered its commit.
  std::optional<ReplicaComparison> at(Stage stage, Step step) const;
  /// Those of `members` that have said what this round left.
  std::vector<Replica> of(Round round, const std::vector<PeerId>& members) const;
  ReplicaComparison after(Round round, const std::vector<PeerId>& members) const;

 private:
  const Roster& roster_;
};

}  // namespace swarm::routing
