#include "routing/dht/dht_key.h"

#include "common/mix.h"

namespace swarm::routing {

void put_big_endian(uint64_t word, uint8_t* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<uint8_t>(word >> (56 - 8 * i));
}

DhtKey dht_key(const std::string& name) {
  DhtKey key;
  put_big_endian(mix(fnv1a(name)), key.bytes.data());
  put_big_endian(mix(fnv1a(name, mix(fnv1a("")))), key.bytes.data() + 8);
  return key;
}

NodeId xor_distance(const DhtKey& a, const DhtKey& b) {
  NodeId distance;
  for (size_t i = 0; i < distance.bytes.size(); ++i) distance.bytes[i] = a.bytes[i] ^ b.bytes[i];
  return distance;
}

}  // namespace swarm::routing
