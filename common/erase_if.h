/// What std::erase_if of C++20 does for a sequence.
#pragma once

#include <algorithm>
#include <cstddef>

namespace swarm {

/// Erases what `gone` says; of how many it said so.
template <class Sequence, class Gone>
size_t erase_if(Sequence& all, const Gone& gone) {
  const size_t before = all.size();
  all.erase(std::remove_if(all.begin(), all.end(), gone), all.end());
  return before - all.size();
}

}  // namespace swarm
