#include "routing/membership/tenure.h"

#include <algorithm>

namespace swarm::routing {

Time Tenure::patience(const Facts& facts) {
  const auto tried = static_cast<uint32_t>(facts.rivals) + 1;  // reigns until all have had one
  const uint32_t doublings = facts.vain == 0 ? 0 : (facts.vain - 1) / tried;
  return kPatience * (1u << std::min(doublings, kMostDoublings));
}

bool Tenure::gives_way(const Facts& facts, Time now) {
  if ((!facts.missing && !facts.minority) || facts.rivals == 0) {
    since_.reset();
    return false;
  }
  if (!since_) since_ = now;
  return now - *since_ >= patience(facts);
}

}  // namespace swarm::routing
