/// Lists of whole numbers in which most follow from the one before, run-length coded: [[0,8],11] are 0
/// to 7 and 11. A list without runs is one, so what was written without them reads the same. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "records/value.h"

namespace swarm::records {

/// A number follows if it is as far from the one before as theirs in `beside` are (which need not be
/// as long), and one more where `beside` has none.
List pack_runs(const std::vector<uint64_t>& numbers, const std::vector<uint64_t>& beside = {});

/// Null, or what the value is not.
const char* unpack_runs(const Value& value, const std::vector<uint64_t>& beside,
                        std::vector<uint64_t>& numbers);

constexpr size_t kMostInRuns = 1u << 20;  ///< Numbers: of slots that a step can have.

}  // namespace swarm::records
