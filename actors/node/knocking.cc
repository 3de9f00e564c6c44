#include "actors/node/knocking.h"

#include <utility>

#include "actors/net/errors.h"
#include "actors/net/local.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::seconds kLongest{60};

caf::behavior knocker(caf::event_based_actor* self, const Knock& knock) {
  return {[self, knock](tick_atom, const Endpoint& at) -> caf::result<NodeInfo> {
    self->quit();
    auto found = knock(at);
    if (!found) return to_caf(found.error());
    return std::move(*found);
  }};
}

}  // namespace

void knock_in_background(caf::event_based_actor* self, const Knock& knock, const Endpoint& at,
                         bool detached, std::function<void(const Result<NodeInfo>&)> done) {
  const auto worker =
      detached ? self->spawn<caf::detached>(knocker, knock) : self->spawn(knocker, knock);
  self->request(worker, kLongest, tick_atom::value, at)
      .then([done](const NodeInfo& found) { done(found); },
            [done](const caf::error& error) { done(Result<NodeInfo>(from_caf(error))); });
}

}  // namespace swarm::actors
