#include "apps/launch/audit_merge.h"

#include <functional>

#include "records/value.h"

namespace swarm::launch {

void AuditMerge::remember(const std::string& line) {
  ++merged_before_[std::hash<std::string>{}(line)];
}

AuditMerge::Verdict AuditMerge::take(const std::string& line) {
  const auto before = merged_before_.find(std::hash<std::string>{}(line));
  if (before != merged_before_.end() && before->second > 0) {
    --before->second;
    return Verdict::kMergedBefore;
  }
  return records::parse_object(line) ? Verdict::kNew : Verdict::kDamaged;
}

}  // namespace swarm::launch
