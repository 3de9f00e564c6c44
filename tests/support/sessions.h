/// Two ends of a link without a wire: what one has to send, the other receives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/net/links/session.h"

namespace swarm::testing {

/// Of a node of the run "run".
inline actors::LinksOptions link_options(uint8_t number) {
  actors::LinksOptions options;
  options.node_id.bytes[0] = number;
  options.node_name = "node" + std::to_string(number);
  options.run_id = "run";
  return options;
}

/// Carries one chunk, `piece` bytes at a time; false when there is none.
inline bool carry(actors::links::Session& from, actors::links::Session& to,
                  actors::links::TimePoint now, size_t piece = 1 << 20) {
  std::vector<char> bytes;
  if (!from.next_chunk(bytes)) return false;
  for (size_t at = 0; at < bytes.size(); at += piece)
    to.receive(bytes.data() + at, std::min(piece, bytes.size() - at), now);
  return true;
}

/// Carries both ways until neither has anything to send.
inline void exchange(actors::links::Session& a, actors::links::Session& b,
                     actors::links::TimePoint now, size_t piece = 1 << 20) {
  for (bool moved = true; moved;) {
    moved = carry(a, b, now, piece);
    moved = carry(b, a, now, piece) || moved;
  }
}

}  // namespace swarm::testing
