/// Which lines of the nodes' audit.jsonl are new. Every line is kept, equal ones too: a
/// contribution written twice must be seen twice. Pure. One owner.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace swarm::launch {

class AuditMerge {
 public:
  /// A line of the merged file of an earlier `swarm run`: the nodes' files hold it too.
  void remember(const std::string& line);

  enum class Verdict { kNew, kMergedBefore, kDamaged };
  /// kDamaged: not a JSON object; a node died while it wrote, or its disk was full.
  Verdict take(const std::string& line);

 private:
  std::unordered_map<size_t, size_t> merged_before_;  ///< Hash -> how many are still to come.
};

}  // namespace swarm::launch
