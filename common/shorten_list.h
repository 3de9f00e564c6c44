/// Lists that are too long for a line.
#pragma once

#include <cstddef>
#include <string>

namespace swarm {

/// `text`, whose end is a list with ", " between its items, in at most `max_bytes`: items that do not
/// fit are left out and counted, "missing a, b and 12 more". Without room for one of them the text is
/// cut with "...". Requires max_bytes >= 32.
std::string shorten_list(const std::string& text, size_t max_bytes);

}  // namespace swarm
