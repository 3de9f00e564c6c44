#include "actors/net/links/places.h"

#include <algorithm>
#include <cstring>

namespace swarm::actors::links {
namespace {

constexpr const char* kMapped = "::ffff:";  // an IPv4 address at a socket that takes both

bool is_at(const NodeTable& nodes, const std::string& host) {
  const auto& all = nodes.all();
  return std::any_of(all.begin(), all.end(), [&host](const auto& entry) {
    return entry.second.endpoint.port != 0 && entry.second.endpoint.host == host;
  });
}

}  // namespace

std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host.rfind(kMapped, 0) == 0) host.erase(0, std::strlen(kMapped));
  return host == "localhost" || host == "::1" ? "127.0.0.1" : host;
}

void ProvenHosts::add(const std::string& host) {
  const auto known = std::find(hosts_.begin(), hosts_.end(), host);
  if (known != hosts_.end()) hosts_.erase(known);
  hosts_.push_back(host);
  if (hosts_.size() > kMost) hosts_.pop_front();
}

bool ProvenHosts::has(const std::string& host) const {
  return std::find(hosts_.begin(), hosts_.end(), host) != hosts_.end();
}

bool has_place(const Doorway& door, const LinksOptions& options, const std::string& from) {
  const std::string host = host_of(from);
  size_t pending = 0, pending_here = 0, here = 0, unproven = 0;
  // On one machine all come from one address.
  const bool shared = host.empty() || host == "127.0.0.1";
  bool up = false;
  for (const auto& entry : door.conns) {
    const Session& session = *entry.second.session;
    const bool same = !shared && host_of(entry.second.remote) == host;
    here += same ? 1 : 0;
    unproven += entry.second.proven ? 0 : 1;
    up = up || (same && session.state() == Session::State::kUp);
    if (entry.second.dialled.port != 0 || session.state() != Session::State::kHello) continue;
    ++pending;
    pending_here += same ? 1 : 0;
  }
  const bool met = options.key.empty() && (up || is_at(door.nodes, host));
  const bool known = shared || met || door.proven.has(host);
  const auto open = [known](size_t places) { return known ? places : places - places / 4; };
  const size_t places = options.max_pending_hellos, all = options.most_connections();
  return pending < open(places) && pending_here < (places + 1) / 2 && unproven < open(all) &&
         door.conns.size() < all && here < (all + 1) / 2;
}

}  // namespace swarm::actors::links
