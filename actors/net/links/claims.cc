#include "actors/net/links/claims.h"

#include <fmt/format.h>

#include "actors/net/links/places.h"

namespace swarm::actors::links {
namespace {

bool same_place(const std::string& there, const Endpoint& says, const std::string& host) {
  return host.empty() || there.empty() || there == host ||
         (says.port != 0 && host_of(says.text()) == host);
}

}  // namespace

Status may_claim(const Conns& conns, const NodeInfo& claimant, const std::string& remote) {
  const std::string host = host_of(remote);
  for (const auto& entry : conns) {
    const Session& known = *entry.second.session;
    if (known.state() != Session::State::kUp) continue;
    const NodeInfo& other = known.peer();
    const std::string there = host_of(entry.second.remote);
    const bool named = !claimant.is_tool && !other.is_tool && other.name == claimant.name;
    if ((other.id != claimant.id && !named) || same_place(there, other.endpoint, host)) continue;
    return Error{
        ErrorCode::kRefused,
        fmt::format("'{}' ({}) has a link from {} already: give both the run's key, or another "
                    "name, or try again once that link is gone",
                    claimant.name, claimant.id.brief(), there)};
  }
  return {};
}

}  // namespace swarm::actors::links
