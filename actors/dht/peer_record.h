/// What a stage peer announces in the DHT, under stage_key() of its stage, as who reads it wants it.
#pragma once

#include <optional>
#include <string>

#include "actors/dht/dht_node.h"
#include "common/ids.h"
#include "common/strong_id.h"

namespace swarm::actors {

struct AnnouncedPeer {
  PeerId id;
  Endpoint endpoint;
  std::string node_name;  ///< May be empty.
};

/// None: it has taken its word back, or a stranger's record, which is wrong in any way or of another stage.
std::optional<AnnouncedPeer> read_peer_record(const DhtRecordLocal& record, Stage stage);

}  // namespace swarm::actors
