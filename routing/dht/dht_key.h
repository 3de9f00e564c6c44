/// The key space of the DHT: 128 bits, in which nodes and names have places, near and far by XOR
/// (Maymounkov & Mazieres 2002).
#pragma once

#include <string>

#include "common/ids.h"

namespace swarm::routing {

/// A place in the key space; node ids are keys too.
using DhtKey = NodeId;

/// Key of a name, e.g. "run/stage/3": 128 well-mixed bits of it. Not secret, and who wants to can
/// find another name with the same key.
DhtKey dht_key(const std::string& name);

/// a XOR b, compared as a big-endian number.
NodeId xor_distance(const DhtKey& a, const DhtKey& b);

/// Writes `word` to out[0..7], most significant byte first, as keys are compared.
void put_big_endian(uint64_t word, uint8_t* out);

/// A node of the DHT and where it listens.
struct Contact {
  NodeId id;
  Endpoint endpoint;
};

}  // namespace swarm::routing
