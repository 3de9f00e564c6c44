/// Untrusted text, made safe to stand in a report; numbers are common/numbers.h. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "common/numbers.h"

namespace swarm::report {

/// For HTML text and quoted attributes: & < > " ' are named, control characters replaced.
std::string escape(const std::string& text);

/// The first bytes of a longer text and "...", cut between characters of UTF-8.
std::string clip(const std::string& text, size_t max_bytes);

}  // namespace swarm::report
