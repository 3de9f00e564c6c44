#include <algorithm>

#include "config/checks.h"
#include "config/schema.h"

namespace swarm::config {

Location Places::of(const std::string& path) const {
  if (const auto key = keys.find(path); key != keys.end()) return key->second;
  const auto section = sections.find(path.substr(0, path.find('.')));
  return section == sections.end() ? file : section->second;
}

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 64 || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

}  // namespace swarm::config
