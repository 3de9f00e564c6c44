#include "tensor/core/bit_fault_options.h"

#include <charconv>
#include <map>

namespace swarm::tensor {

std::optional<BitFault> parse_bit_fault(const std::string& text) {
  static const std::map<std::string, StatePart> parts{{"parameters", StatePart::kParameters},
                                                      {"moments", StatePart::kMoments},
                                                      {"gradient_sum", StatePart::kGradientSum},
                                                      {"contribution", StatePart::kContribution}};
  const size_t first = text.find(':'), second = text.find(':', first + 1);
  if (first == 0 || first == std::string::npos || second == std::string::npos) return std::nullopt;
  const auto part = parts.find(text.substr(first + 1, second - first - 1));
  if (part == parts.end()) return std::nullopt;
  BitFault fault{text.substr(0, first), part->second, 0};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + second + 1, end, fault.step);
  if (error != std::errc() || rest != end) return std::nullopt;
  return fault;
}

}  // namespace swarm::tensor
