#include "common/printable.h"

#include <cstdio>

namespace swarm {

std::string printable(const std::string& text, size_t max_bytes) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char piece[5] = {c, 0};
    if (byte < 0x20 || byte > 0x7e) std::snprintf(piece, sizeof piece, "\\x%02x", byte);
    if (out.size() + std::char_traits<char>::length(piece) + 3 > max_bytes) return out + "...";
    out += piece;
  }
  return out;
}

}  // namespace swarm
