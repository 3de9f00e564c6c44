/// Readable identities for tests.
#pragma once

#include <ostream>
#include <string>

#include "common/ids.h"

namespace swarm {

inline std::ostream& operator<<(std::ostream& out, const NodeId& id) { return out << id.hex(); }
inline std::ostream& operator<<(std::ostream& out, const ActorId& id) { return out << id.brief(); }
inline std::ostream& operator<<(std::ostream& out, ErrorCode code) {
  return out << to_string(code);
}

namespace testing {

/// A node id whose last bytes spell `number`.
inline NodeId node(uint32_t number) {
  NodeId id;
  for (int i = 0; i < 4; ++i) id.bytes[15 - i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

inline PeerId peer(uint32_t number, const std::string& actor = "stage.0") {
  return {node(number), actor};
}

}  // namespace testing
}  // namespace swarm
