/// How often each line is somewhere: equal ones count, since a contribution written twice must be seen
/// twice. Pure. One owner.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>

namespace swarm::launch {

class LineCounts {
 public:
  void add(const std::string& line) { ++counts_[std::hash<std::string>{}(line)]; }
  /// False if there is none (any more).
  bool remove(const std::string& line) {
    const auto found = counts_.find(std::hash<std::string>{}(line));
    if (found == counts_.end()) return false;
    if (--found->second == 0) counts_.erase(found);
    return true;
  }

 private:
  std::unordered_map<size_t, size_t> counts_;  ///< By hash.
};

}  // namespace swarm::launch
