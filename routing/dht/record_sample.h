/// Which of a key's records a reader gets when it wants only so many. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "routing/dht/dht_key.h"
#include "routing/dht/record_store.h"

namespace swarm::routing {

/// `most` of `records`, 0: all. First, of each node that has given one of its own since `since_s`, one of
/// these; then others. So what strangers leave under a key hides nobody who repeats its own, and who repeats
/// many hides no more than who repeats one. Within both, which ones is drawn from the reader's id and each
/// subkey: every node that holds the same chooses the same for one reader, a record that comes or goes moves
/// hardly another, and over many readers each is chosen equally often. The order is of no meaning.
std::vector<StoredRecord> sample_for(const NodeId& reader, std::vector<StoredRecord> records,
                                     size_t most, double since_s);

}  // namespace swarm::routing
