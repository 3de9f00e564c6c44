#include "apps/audit/audit_words.h"

#include <fmt/format.h>

namespace swarm::launch {

std::string at(uint64_t step) { return "step " + std::to_string(step); }
std::string at(uint64_t step, size_t stage) { return fmt::format("{}, stage {}", at(step), stage); }

std::string who(const records::HeldSlots& held) {
  return held.node_name + " (" + held.peer.brief() + ")";
}

std::string list(const records::HeldSlots& held) {
  std::string text;
  for (size_t i = 0; i < held.slots.size() && i < held.attempts.size(); ++i)
    text += fmt::format("{}{}:{}", i > 0 ? " " : "", held.slots[i], held.attempts[i]);
  return text.empty() ? "nothing" : text;
}

bool same_held(const records::HeldSlots& a, const records::HeldSlots& b) {
  return a.slots == b.slots && a.attempts == b.attempts;
}

}  // namespace swarm::launch
