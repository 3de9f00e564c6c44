/// Where the coordinator's peers are: their addresses, and the proxies that mail is sent to. Not
/// thread-safe; used by the coordinator's handlers only.
#pragma once

#include <caf/actor.hpp>
#include <map>
#include <string>

#include "actors/net/requests.h"
#include "common/ids.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

class PeerBook {
 public:
  /// Adds a peer or renews its address.
  void add(const PeerAddress& address) { entries_[address.id].address = address; }
  /// False if the peer is gone meanwhile.
  bool set_proxy(const PeerId& id, const caf::actor& proxy);
  void remove(const PeerId& id) { entries_.erase(id); }
  void clear() { entries_.clear(); }

  /// Null while none is known.
  caf::actor proxy(const PeerId& id) const;
  proto::Peer to_proto(const PeerId& id) const;
  /// As people know it: its node's name.
  std::string name(const PeerId& id) const;

 private:
  struct Entry {
    PeerAddress address;
    caf::actor proxy;
  };
  std::map<PeerId, Entry> entries_;
};

}  // namespace swarm::actors
