#include "routing/wiring/tries.h"

#include <algorithm>

namespace swarm::routing {

namespace {
constexpr double kLongestPauseS = 1;
}

std::optional<PeerId> Tries::next(InterleavedRoundRobin& router, int64_t samples,
                                  const Condition& busy) {
  auto tried = [&](const PeerId& peer) { return tried_.count(peer) > 0; };
  auto avoided = [&](const PeerId& peer) { return tried(peer) || avoid_.count(peer) > 0; };
  auto picked = router.pick(
      samples, [&](const PeerId& peer) { return avoided(peer) || (busy && busy(peer)); });
  const bool others_are_full = busy && shortest_hint_s_ > 0;
  if (!picked && others_are_full) return std::nullopt;
  if (!picked) picked = router.pick(samples, avoided);
  if (!picked) picked = router.pick(samples, tried);
  if (!picked) return std::nullopt;
  tried_.insert(*picked);
  return *picked;
}

void Tries::refused(double hint_s) {
  if (hint_s <= 0) return;
  shortest_hint_s_ = shortest_hint_s_ > 0 ? std::min(shortest_hint_s_, hint_s) : hint_s;
}

double Tries::start_over(double otherwise_s) {
  const double pause_s =
      shortest_hint_s_ > 0 ? std::min(shortest_hint_s_, kLongestPauseS) : otherwise_s;
  tried_.clear();
  shortest_hint_s_ = 0;
  return pause_s;
}

}  // namespace swarm::routing
