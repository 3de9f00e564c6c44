#include "actors/net/links/places.h"

#include <algorithm>

namespace swarm::actors::links {

std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host == "localhost" || host == "::1" ? "127.0.0.1" : host;
}

bool has_place(const Conns& conns, const NodeTable& nodes, const LinksOptions& options,
               const std::string& from) {
  const std::string host = host_of(from);
  size_t pending = 0, pending_here = 0, here = 0;
  // On one machine all come from one address.
  const bool shared = host.empty() || host == "127.0.0.1";
  bool known = shared;
  for (const auto& entry : conns) {
    const Session& session = *entry.second.session;
    const bool same = !shared && host_of(entry.second.remote) == host;
    here += same ? 1 : 0;
    known = known || (same && session.state() == Session::State::kUp);
    if (entry.second.dialled.port != 0 || session.state() != Session::State::kHello) continue;
    ++pending;
    pending_here += same ? 1 : 0;
  }
  for (const auto& entry : nodes.all())
    known = known || (entry.second.endpoint.port != 0 && entry.second.endpoint.host == host);
  const size_t places = options.max_pending_hellos, all = options.most_connections();
  const size_t open = known ? places : places - places / 4;
  return pending < open && pending_here < (places + 1) / 2 && conns.size() < all &&
         here < (all + 1) / 2;
}

}  // namespace swarm::actors::links
