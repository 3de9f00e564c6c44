/// Whom a learner asks, of many.
///
/// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::routing {

/// At most `most` places of `sources`, which are names of nodes. By the names alone: a learner that
/// comes back after a restart asks those who kept the means for it, whatever their order is now; if
/// one of them leaves the others stay. Learners of other names mostly get others.
std::vector<size_t> choose_donors(const std::string& learner,
                                  const std::vector<std::string>& sources, size_t most);

}  // namespace swarm::routing
