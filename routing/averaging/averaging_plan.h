/// Who reduces which part of a vector in a butterfly all-reduce (design: averaging), and how a part
/// is cut into chunks for transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swarm::routing {

/// Elements [first, first + count).
struct Part {
  uint64_t first = 0;
  uint64_t count = 0;

  friend bool operator==(const Part& a, const Part& b) {
    return a.first == b.first && a.count == b.count;
  }
};

/// Splits [0, n) among the members, one Part each, in order, contiguous and covering. Inner borders
/// are multiples of 16 elements (cache lines of fp32, blocks of the codecs) when n is large enough.
///
/// A member with part p of m members sends and receives n (1 + p (m - 2)) elements each way: its
/// own vector less its part, and its part's average to all others. The split minimises the time
/// of the slowest member; one that is too slow to help gets an empty part. Equal bandwidths give
/// equal parts (but for alignment). Bandwidths [any unit]: those that are not finite and positive
/// count as "no part"; if that holds for all, the parts are equal.
///
/// Pure: equal inputs give equal plans, so every member of a group can compute it by itself.
std::vector<Part> plan_parts(uint64_t n, const std::vector<double>& bandwidths);

/// Who reduces in this round, as bandwidths for plan_parts(): 1, or 0 for no part. Parts of fewer than
/// `min_part` elements would cost a message each and carry next to nothing, so of many members with a
/// short vector only some reduce, in every round others. Requires members > 0 and min_part > 0.
std::vector<double> reducers(uint64_t n, size_t members, uint64_t min_part, uint64_t round);

/// Cuts `part` into chunks of `chunk_elements` (the last may be shorter); none for an empty part.
/// Requires chunk_elements > 0.
std::vector<Part> chunks(const Part& part, uint64_t chunk_elements);

}  // namespace swarm::routing
