/// What a run learns from, as its nodes tell one another.
#pragma once

#include <cstdint>
#include <string>

namespace swarm {

struct RunText {
  uint64_t fingerprint = 0;  ///< tensor::TextData::fingerprint(); 0: not known.
  std::string path;          ///< For people: where the trainer that brought it has it.
  std::string node_name;     ///< For people: that trainer's node.

  bool known() const { return fingerprint != 0; }
  friend bool operator==(const RunText& a, const RunText& b) {
    return a.fingerprint == b.fingerprint && a.path == b.path && a.node_name == b.node_name;
  }
};

}  // namespace swarm
