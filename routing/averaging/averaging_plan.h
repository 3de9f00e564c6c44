/// Who reduces which part of a vector in a butterfly all-reduce (design: averaging), and how a part
/// is cut into chunks for transport. Whole numbers only: all members of a round get the same borders,
/// whatever their machines make of fractions. What the weights should be: part_weights.h.
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

/// The largest weight, and the most members, for which plan_parts() is defined.
constexpr uint32_t kMostWeight = 1u << 16;
constexpr size_t kMostParts = 1'024;

/// Splits [0, n) among the members, one Part each, in order, contiguous and covering: as long as the
/// member's weight, of all. Weight 0: an empty part; if all are 0, the parts are equal. Inner borders
/// are multiples of 16 elements (cache lines of fp32, blocks of the codecs) when n is large enough.
/// Requires weights of at most kMostWeight, of kMostParts members, and n < 2^40.
std::vector<Part> plan_parts(uint64_t n, const std::vector<uint32_t>& weights);

/// The same with inner borders at multiples of `alignment`, whatever that makes of the parts' lengths.
/// Requires alignment > 0 and n / alignment <= 2^36.
std::vector<Part> plan_parts(uint64_t n, const std::vector<uint32_t>& weights, uint64_t alignment);

/// Who reduces in this round: `weights`, with 0 for those that have no part. Parts of fewer than
/// `min_part` elements would cost a message each and carry next to nothing, so of many members with a
/// short vector only some reduce, others from round to round, each as often as its weight says. Whose weight
/// is too small for such a part beside the others' does not, nor who has none at all, unless nobody has one.
/// Requires members, min_part > 0 and what plan_parts() does.
std::vector<uint32_t> reducers(uint64_t n, const std::vector<uint32_t>& weights, uint64_t min_part,
                               uint64_t round);

/// Whether the vector is too short for a part of each member: then others reduce from round to round.
inline bool reducers_take_turns(uint64_t n, size_t members, uint64_t min_part) {
  return n / min_part < members;
}

/// Cuts `part` into chunks of `chunk_elements` (the last may be shorter); none for an empty part.
/// Requires chunk_elements > 0.
std::vector<Part> chunks(const Part& part, uint64_t chunk_elements);

}  // namespace swarm::routing
