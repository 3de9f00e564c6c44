/// What bytes between nodes are for. Links send by it, counters count by it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swarm::actors {

/// Order is priority: a lower class always goes first (chunk by chunk). Which mail is of which
/// class stands in actors/net/mail_kinds.h.
enum class TrafficClass : uint8_t { kControl = 0, kGradients = 1, kActivations = 2, kState = 3 };
constexpr size_t kTrafficClasses = 4;

/// "control", "gradients", ...
const char* to_string(TrafficClass traffic);

}  // namespace swarm::actors
