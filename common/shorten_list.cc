#include "common/shorten_list.h"

namespace swarm {
namespace {

constexpr char kBetween[] = ", ";
constexpr size_t kBetweenBytes = sizeof kBetween - 1;

}  // namespace

std::string shorten_list(const std::string& text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t left_out = 0;
  for (size_t end = text.rfind(kBetween); end != std::string::npos && end > 0;
       end = text.rfind(kBetween, end - kBetweenBytes)) {
    const std::string more = " and " + std::to_string(++left_out) + " more";
    if (end + more.size() <= max_bytes) return text.substr(0, end) + more;
    if (end < kBetweenBytes) break;
  }
  return text.substr(0, max_bytes - 3) + "...";
}

}  // namespace swarm
