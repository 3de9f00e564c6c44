#include "actors/net/options.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>

namespace swarm::actors {

bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

Status LinksOptions::may_listen(const Endpoint& at) const {
  if (encrypted() || allow_plaintext || is_loopback(at.host)) return {};
  return Error{ErrorCode::kInvalidArgument,
               "links are not encrypted, so a node listens on loopback only; to listen on " +
                   at.text() + " anyway set node.allow_plaintext = true"};
}

size_t LinksOptions::most_connections() const {
  constexpr size_t kLeast = 1'024, kPerLink = 4, kOtherFiles = 128;
  const size_t wanted = std::max(kLeast, kPerLink * max_links);
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return wanted;
  const size_t granted = static_cast<size_t>(descriptors.rlim_cur);
  return std::min(wanted, granted > 2 * kOtherFiles ? granted - kOtherFiles : granted / 2);
}

bool LinksOptions::demands_key() const {
  const bool reachable = !listen.host.empty() && !is_loopback(listen.host);
  // A tool proves its key where the user says, and believes only who proves it in return.
  return (reachable || is_tool) && !open && !key.empty();
}

}  // namespace swarm::actors
