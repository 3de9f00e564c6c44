/// When a peer may leave its stage, for another one or because its node ends (docs/elastic.md): it has a part
/// in nothing that is under way. Pure.
#pragma once

#include <optional>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/roster.h"
#include "routing/steps/schedule.h"

namespace swarm::routing {

enum class Departure {
  kMay,
  kHasPart,    ///< In a step, a round or an update.
  kServesNot,  ///< Now: it is to take another state first.
  kGathers,    ///< The swarm may need its state.
  kOver,       ///< Nothing is left to train: nobody moves any more.
};

/// While training is under way: the latest round of a stage whose peers average their updates; who has nothing
/// left to do leaves after the next one. Else nothing.
std::optional<Round> leaves_after(const Frame& frame, Stage stage);

/// `asked_in`, in asynchronous mode only: the latest round of its stage when it had nothing left to do. It
/// leaves after one that began later, which has all its updates, and which another one who serves has taken.
Departure departure(const Schedule& schedule, const PeerId& id, const PeerFacts& peer,
                    std::optional<Round> asked_in);

}  // namespace swarm::routing
