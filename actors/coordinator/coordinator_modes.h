/// The mode of training is chosen here, once, when a coordinator is made: which Schedule,
/// Gathering and Relocation it asks (design Sec. 9).
#pragma once

#include <cstdint>
#include <memory>

#include "actors/coordinator/coordinator.h"
#include "routing/membership/gathering.h"
#include "routing/membership/relocation.h"
#include "routing/membership/roster.h"
#include "routing/steps/schedule.h"

namespace swarm::actors {

struct CoordinatorParts {
  std::unique_ptr<routing::Schedule> schedule;
  std::unique_ptr<routing::Gathering> gathering;
  routing::Relocation relocation;
  uint32_t open_together = 1;  ///< Steps or periods that may be open at once.
};

/// `roster` outlives them.
CoordinatorParts make_parts(const CoordinatorDeps& deps, routing::Roster& roster,
                            routing::Consent& consent);

}  // namespace swarm::actors
