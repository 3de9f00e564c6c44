/// Checksums and digests as text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace swarm {

/// 16 lower-case hex digits.
inline std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace swarm
