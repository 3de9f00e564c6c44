/// Whether a peer takes part in a close or a commit that it is told of, by where it is. Pure; the stage
/// server's step mode asks (actors/stage/step_updates.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/result.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// Where a peer that serves is.
struct RoundPlace {
  Step open_step, applied;
  Round round;              ///< The newest that it has begun.
  bool averaged = false;    ///< Its mean is there.
  bool committing = false;  ///< An update is being made.
};

/// An average that is to be applied, and the step whose it is.
struct NamedAverage {
  Step step;
  Round round;
};

/// CloseStep, as far as it decides.
struct CloseCall {
  Step step;
  Round round;
  bool abandons = false;
  bool is_member = false;
  bool go_on = false;  ///< The peer opens the next step at once.
  std::optional<NamedAverage> commit;
};

/// Of a peer that serves and makes no update. A close that it has had already is well again. Errors:
/// kStaleStep (that step, or round, is over), kNotReady (the peer is behind), kInvalidArgument (it is no
/// member), kNotFound (it has not the average that is to be applied first).
Status may_close(const RoundPlace& at, const CloseCall& call);

/// Errors: kStaleStep (the update was made, or is too far ahead), kNotFound (it has no such average).
Status may_commit(const RoundPlace& at, const NamedAverage& commit);

/// Whether an asynchronous peer averages in round `asked`, of which `newest` is under way (`averaging`) or was
/// its last. Errors: kOverloaded (another is under way), kStaleStep (taken again, a round's average would take
/// back the updates made since).
Status may_average(Round newest, bool averaging, Round asked);

/// What counts of a peer's sum, or is in it: slots and the attempt that brought each.
using BroughtBy = std::map<Slot, Attempt>;
/// Equal ones have equal digests; 0 of none.
uint64_t digest_of(const BroughtBy& slots);

/// What CloseStep says of that to the peer.
struct CountedSlots {
  std::set<Slot> slots;
  uint64_t digest = 0;
};

/// Why the sum of a peer that holds `held` cannot be averaged where `counted` of them count; empty: it can.
/// `settled`: none of them is still being computed. What is in a sum cannot be told apart: all of it goes.
/// So it goes where a late report of an attempt whose sum was dropped counts, and another brought the slot
/// since: what is averaged would be right, and what is said of it would not.
std::string too_much(const BroughtBy& held, bool settled, const CountedSlots& counted);

}  // namespace swarm::routing
