#include "actors/averaging/held_parts.h"

#include <utility>

namespace swarm::actors {

void HeldParts::hold(Round round, Part part) {
  bytes_ += weight(part.mail);
  parts_.emplace(round, std::move(part));
}

std::vector<HeldParts::Part> HeldParts::take(Round newest) {
  std::vector<Part> taken;
  for (auto it = parts_.begin(); it != parts_.end() && it->first <= newest; it = parts_.erase(it)) {
    bytes_ -= weight(it->second.mail);
    taken.push_back(std::move(it->second));
  }
  return taken;
}

std::vector<HeldParts::Part> HeldParts::take_expired(TimePoint now) {
  std::vector<Part> taken;
  for (auto it = parts_.begin(); it != parts_.end();) {
    if (it->second.until > now) {
      ++it;
      continue;
    }
    bytes_ -= weight(it->second.mail);
    taken.push_back(std::move(it->second));
    it = parts_.erase(it);
  }
  return taken;
}

std::vector<HeldParts::Part> HeldParts::take_all() {
  return parts_.empty() ? std::vector<Part>{} : take(parts_.rbegin()->first);
}

}  // namespace swarm::actors
