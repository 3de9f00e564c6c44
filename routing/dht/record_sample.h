/// Which of a key's records a reader gets when it wants only so many. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "routing/dht/dht_key.h"
#include "routing/dht/record_store.h"

namespace swarm::routing {

/// `most` of `records`, 0: all. Which ones is drawn from the reader's id and each subkey: every node
/// chooses the same for one reader, a record that comes or goes moves no other but the last, and over
/// many readers each record is chosen equally often. The order is of no meaning.
std::vector<StoredRecord> sample_for(const NodeId& reader, std::vector<StoredRecord> records,
                                     size_t most);

}  // namespace swarm::routing
