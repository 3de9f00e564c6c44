#include "routing/steps/slot_fault.h"

#include <charconv>
#include <vector>

namespace swarm::routing {

std::optional<SlotFault> parse_slot_fault(const std::string& text) {
  std::vector<uint64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (numbers.size() < 3) {
    uint64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    at = rest;
    if (at == end) break;
    if (*at++ != ':') return std::nullopt;
  }
  if (at != end || numbers.size() < 2) return std::nullopt;
  SlotFault fault{Step(numbers[0]), Slot(static_cast<uint32_t>(numbers[1])), std::nullopt};
  if (numbers.size() == 3) fault.stage = Stage(static_cast<uint32_t>(numbers[2]));
  return fault;
}

}  // namespace swarm::routing
