/// Sanitizers look for faults of memory, not of decisions, and make a test up to ten times slower: what only
/// draws more decisions is drawn less often beside them, or not at all.
#pragma once

namespace swarm::testing {

#ifdef SWARM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace swarm::testing
