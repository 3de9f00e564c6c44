#include "actors/net/links/idle_links.h"

#include <algorithm>

namespace swarm::actors::links {

std::vector<ConnId> to_give_up(std::vector<UnneededLink> unneeded, size_t links,
                               NodeTable::TimePoint now, const IdleRules& rules) {
  std::sort(unneeded.begin(), unneeded.end(), [](const UnneededLink& a, const UnneededLink& b) {
    return a.last_mail != b.last_mail ? a.last_mail < b.last_mail : a.conn < b.conn;
  });
  std::vector<ConnId> out;
  for (const UnneededLink& link : unneeded) {
    const std::chrono::duration<double> idle = now - link.last_mail;
    const bool too_many = links - out.size() > rules.max_links;
    if (idle.count() >= rules.idle_close_s || (too_many && idle >= IdleRules::kShortIdle))
      out.push_back(link.conn);
  }
  return out;
}

}  // namespace swarm::actors::links
