/// Details of events are words "key=value" with blanks between them (actors/node/event_log.h).
#pragma once

#include <algorithm>
#include <string>

namespace swarm {

/// The value of the first "key=value"; empty when there is none.
inline std::string detail_word(const std::string& detail, const std::string& key) {
  const std::string start = key + "=";
  for (size_t at = 0; at < detail.size();) {
    const size_t end = std::min(detail.find(' ', at), detail.size());
    if (detail.compare(at, start.size(), start) == 0)
      return detail.substr(at + start.size(), end - at - start.size());
    at = end + 1;
  }
  return {};
}

}  // namespace swarm
