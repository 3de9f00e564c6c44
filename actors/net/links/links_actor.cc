#include "actors/net/links/links_actor.h"

namespace swarm::actors::links {

caf::behavior proxy(caf::event_based_actor* self, caf::actor links, ActorId id) {
  self->set_default_handler(caf::drop);
  return {[self, links, id](const Mail& mail) {
    return self->delegate(links, mail_atom::value, id, mail);
  }};
}

std::function<void()> budget_waker(const caf::actor_addr& links) {
  return [links] {
    auto strong = caf::actor_cast<caf::strong_actor_ptr>(links);
    if (strong) caf::anon_send(caf::actor_cast<caf::actor>(strong), budget_atom::value);
  };
}

}  // namespace swarm::actors::links
