#include "actors/node/watch.h"

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <utility>

namespace swarm::actors {

void watch(const caf::actor& actor, std::function<void(const std::string& why)> failed) {
  actor->attach_functor([failed = std::move(failed)](const caf::error& reason) {
    if (reason && reason != caf::exit_reason::normal && reason != caf::exit_reason::user_shutdown)
      failed(caf::to_string(reason));
  });
}

}  // namespace swarm::actors
