/// What a schedule needs of the other nodes before it commits a step or ends a period
/// (docs/one_history.md). State of a Frame; pure.
#pragma once

#include <cstdint>

#include "common/strong_id.h"
#include "routing/membership/consent.h"
#include "routing/steps/history.h"
#include "routing/time.h"

namespace swarm::routing {

struct Agreement {
  Consent* consent = nullptr;  ///< Null: no other node need agree.

  /// Votes for what leads on from `step` are asked for.
  void want(Step step) const {
    if (consent != nullptr) consent->want_votes(step);
  }
  /// More than half have voted for it; if not, they are asked.
  bool reached(Step step) const {
    want(step);
    return consent == nullptr || consent->may_commit(step);
  }
  /// It is decided. Requires reached().
  void committed(History after, Time now) const {
    if (consent != nullptr) consent->commit(after, now);
  }
  /// Number of the configuration that commits count in; 0: of none.
  uint64_t configuration() const {
    return consent != nullptr ? consent->configuration().number.value() : 0;
  }
};

}  // namespace swarm::routing
