/// The CAF settings of every process of this project, in one place.
#pragma once

#include <caf/actor_system_config.hpp>

namespace swarm::actors {

/// Pass to caf::actor_system. Loads the middleman (its event loop serves the links; its own network
/// protocol is never opened) and renders our errors by name.
///
/// The "sharing" scheduler starts work at once where the default one polls; two pool threads are
/// enough because whatever computes has a thread of its own.
class SystemConfig : public caf::actor_system_config {
 public:
  SystemConfig();
};

/// "swarm" errors as "code: detail". Part of SystemConfig; for other configurations.
void add_swarm_errors(caf::actor_system_config& config);

}  // namespace swarm::actors
