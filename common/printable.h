/// Text of strangers, fit for a terminal and a log.
#pragma once

#include <cstddef>
#include <string>

namespace swarm {

/// `text` with every byte but printable ASCII written as \xNN; cut with "..." so that the result has
/// at most `max_bytes`. Requires max_bytes >= 8.
std::string printable(const std::string& text, size_t max_bytes);

}  // namespace swarm
