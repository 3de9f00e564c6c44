/// Numbers of attempts: 24 bits of term, 20 of gathering, 20 of the lease. An attempt of a history
/// that was given up has a lower number than every one of the present history, so that a peer
/// refuses it by its number alone.
#pragma once

#include <cstdint>

#include "common/strong_id.h"

namespace swarm::routing {

/// Attempts of the `gathering`-th gathering of a term are numbered from here + 1 on. What overflows
/// its bits carries into the next higher ones: numbers never fall within a term.
constexpr Attempt attempt_base(Term term, uint64_t gathering) {
  return Attempt((term.value() << 40) + (gathering << 20));
}

}  // namespace swarm::routing
