#include "actors/net/echo.h"

#include <caf/event_based_actor.hpp>
#include <string>

#include "actors/net/links/links.h"
#include "actors/net/requests.h"
#include "common/names.h"

namespace swarm::actors {

caf::actor spawn_echo(caf::actor_system& system, const caf::actor& links) {
  auto echo = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    install_default_handlers(self);
    return {[](const Mail& mail) -> caf::result<Mail> {
      if (mail.kind != proto::KIND_ECHO)
        return to_caf(ErrorCode::kInvalidArgument, "echo takes only echoes");
      return mail;
    }};
  });
  caf::anon_send(links, register_atom::value, std::string(kEchoName), echo);
  return echo;
}

}  // namespace swarm::actors
