/// Numbers of attempts: (term, gathering, n) in 64 bits, 26 of term, 18 of gathering, 20 of the lease.
/// An attempt of a history that was given up has a lower number than every one of the present history,
/// so that a peer refuses it by its number alone.
#pragma once

#include <cstdint>

#include "common/strong_id.h"
#include "routing/membership/term.h"

namespace swarm::routing {

constexpr int kAttemptTermBits = 26, kAttemptGatheringBits = 18, kAttemptBits = 20;
static_assert(kAttemptTermBits + kAttemptGatheringBits + kAttemptBits == 64);

/// Attempts of the `gathering`-th gathering of a term are numbered from here + 1 on. What overflows
/// its bits carries into the next higher ones: numbers never fall within a term. Of the term's node
/// there is room for some bits only: enough that successors of the same number seldom share numbers.
constexpr Attempt attempt_base(Term term, uint64_t gathering) {
  const uint64_t of_term = term.value() >> (kTermBits - kAttemptTermBits);
  return Attempt((of_term << (kAttemptGatheringBits + kAttemptBits)) + (gathering << kAttemptBits));
}

/// Whether an attempt was leased after a later gathering than the one that gave `base`.
constexpr bool is_of_later_gathering(Attempt attempt, Attempt base) {
  return attempt.value() >> kAttemptBits > base.value() >> kAttemptBits;
}

}  // namespace swarm::routing
