#include "actors/dht/peer_record.h"

#include "actors/net/links/socket.h"
#include "common/names.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

std::optional<AnnouncedPeer> read_peer_record(const DhtRecordLocal& record, Stage stage) {
  proto::PeerRecord peer;
  if (record.value.empty() || !peer.ParseFromString(record.value) || Stage(peer.stage()) != stage)
    return {};
  const auto node = NodeId::from_bytes(peer.node_id());
  const auto endpoint = links::told_endpoint(peer.endpoint());
  if (!node || !endpoint || !writes(*node, record.subkey)) return {};
  if (!is_name(peer.actor()) || !(peer.node_name().empty() || is_name(peer.node_name()))) return {};
  return AnnouncedPeer{PeerId{*node, peer.actor()}, *endpoint, peer.node_name()};
}

}  // namespace swarm::actors
