/// Two ends of a link without a wire: what one has to send, the other receives.
#pragma once

#include <algorithm>
#include <vector>

#include "actors/net/links/session.h"

namespace swarm::testing {

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
