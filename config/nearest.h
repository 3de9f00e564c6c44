/// "Did you mean ...?": the valid name closest to a mistyped one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::config {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
size_t edit_distance(const std::string& a, const std::string& b);

/// The candidate with the fewest edits, the first one on a tie; "" if none is close enough to help
/// (more than a third of the letters, and at least 2, differ).
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace swarm::config
