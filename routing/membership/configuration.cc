#include "routing/membership/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace swarm::routing {

std::string Count::text() const {
  std::string text = fmt::format("have {} of {}", have, of);
  if (!missing.empty()) text += fmt::format(", missing {}", fmt::join(missing, ", "));
  return text;
}

Count count(const Voters& list, const Voters& there) {
  Count result;
  result.of = list.size();
  for (const std::string& voter : list) {
    if (there.count(voter) != 0)
      ++result.have;
    else
      result.missing.insert(voter);
  }
  return result;
}

}  // namespace swarm::routing
