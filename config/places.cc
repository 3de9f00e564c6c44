#include "config/checks.h"
#include "config/schema.h"

namespace swarm::config {

Location Places::of(const std::string& path) const {
  if (const auto key = keys.find(path); key != keys.end()) return key->second;
  const auto section = sections.find(path.substr(0, path.find('.')));
  return section == sections.end() ? file : section->second;
}

}  // namespace swarm::config
