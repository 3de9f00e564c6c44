// FaultInjector: links whose rates change, and that come and go.
#include <cmath>

#include "apps/sim/faults.h"

namespace swarm::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::string in_bytes(double per_s) {
  return per_s <= 0 ? "any" : std::to_string(static_cast<uint64_t>(per_s)) + " B/s";
}

}  // namespace

/// Rates at which the mail of a simulated swarm, some 100 bytes each, takes from nothing to seconds.
void FaultInjector::draw_rate() {
  auto rate = [this] {
    constexpr double kSlowest = 1e3, kFastest = 1e6;  // bytes/s
    return kSlowest * std::pow(kFastest / kSlowest, random_.uniform());
  };
  const uint64_t which = random_.below(4);  // uplink, downlink, both, a pair
  const Names names = which == 3            ? draw_some(living(), 2)
                      : random_.chance(0.1) ? living()
                                            : draw_some(living(), 1 + random_.below(2));
  if (which == 3 && names.size() < 2) return;
  nanoseconds when{0};
  for (uint64_t changes = 2 + random_.below(3); changes > 0; --changes) {
    const bool lifted = changes == 1;  // at last
    const double up = lifted || which == 1 ? 0 : rate(), down = lifted || which == 0 ? 0 : rate();
    agenda_.later(when, [this, names, which, up, down] {
      if (which == 3) {
        hooks_.log(names[0], "FAULT sends to " + names[1] + " at " + in_bytes(up));
        swarm_.set_pair_rate(names[0], names[1], up);
        return;
      }
      for (const auto& name : names) {
        hooks_.log(name, "FAULT links up=" + in_bytes(up) + " down=" + in_bytes(down));
        swarm_.set_rates(name, {up, down});
      }
    });
    when += random_.spread(milliseconds(100), seconds(8));
  }
}

/// One direction of a pair, or both, is cut and back again, several times.
void FaultInjector::draw_flapping() {
  Names names;
  for (const auto& [name, node] : swarm_.nodes) names.push_back(name);
  names = draw_some(names, 2);
  if (names.size() < 2) return;
  const auto pairs =
      Cuts::between({names[0]}, {names[1]}, /*to_right=*/true, /*to_left=*/random_.chance(0.5));
  nanoseconds when{0};
  for (uint64_t cuts = 1 + random_.below(4); cuts > 0; --cuts) {
    agenda_.later(when, [this, pairs, names] {
      hooks_.log(names[0],
                 "FAULT loses its way to " + names[1] + (pairs.size() > 1 ? " and back" : ""));
      cuts_.cut(pairs);
    });
    when += random_.spread(milliseconds(20), seconds(3));
    agenda_.later(when, [this, pairs, names] {
      hooks_.log(names[0], "FAULT reaches " + names[1] + " again");
      cuts_.join(pairs);
    });
    when += random_.spread(milliseconds(20), seconds(3));
  }
}

}  // namespace swarm::sim
