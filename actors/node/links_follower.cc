#include "actors/node/links_follower.h"

#include <caf/event_based_actor.hpp>
#include <chrono>
#include <string>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "records/catalogue.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};

void look(caf::event_based_actor* self, const LinksFollowerDeps& deps) {
  const auto news = deps.poll();
  if (!news) return;
  if (!*news) {
    const std::string& why = news->error().detail;
    log_warn("event=links_file_refused reason=\"" + why + "\"");
    deps.events->record(-1, -1, records::LinksFileRefused{why});
    return;
  }
  const NodeShape& node = (*news)->node;
  log_info("event=links_shaped");
  deps.events->record(
      -1, -1,
      records::LinksShaped{node.send_bytes_per_s, node.receive_bytes_per_s, node.link_delay_s,
                           node.link_jitter_s, (*news)->paths.size()});
  self->send(deps.links, shape_atom::value, **news);
}

caf::behavior links_follower(caf::event_based_actor* self, const LinksFollowerDeps& deps) {
  install_default_handlers(self);
  self->send(self, tick_atom::value);
  return {[self, deps](tick_atom) {
    look(self, deps);
    self->delayed_send(self, kLookEvery, tick_atom::value);
  }};
}

}  // namespace

caf::actor spawn_links_follower(caf::actor_system& system, LinksFollowerDeps deps) {
  if (deps.detached) return system.spawn<caf::detached>(links_follower, std::move(deps));
  return system.spawn(links_follower, std::move(deps));
}

}  // namespace swarm::actors
