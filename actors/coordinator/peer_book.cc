#include "actors/coordinator/peer_book.h"

namespace swarm::actors {

bool PeerBook::set_proxy(const PeerId& id, const caf::actor& proxy) {
  auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  found->second.proxy = proxy;
  return true;
}

caf::actor PeerBook::proxy(const PeerId& id) const {
  auto found = entries_.find(id);
  return found == entries_.end() ? caf::actor() : found->second.proxy;
}

proto::Peer PeerBook::to_proto(const PeerId& id) const {
  auto found = entries_.find(id);
  if (found == entries_.end()) return actors::to_proto(id, Endpoint{}, "");
  return actors::to_proto(id, found->second.address.endpoint, found->second.address.node_name);
}

std::string PeerBook::name(const PeerId& id) const {
  auto found = entries_.find(id);
  return found == entries_.end() ? id.brief() : found->second.address.node_name;
}

}  // namespace swarm::actors
