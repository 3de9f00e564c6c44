#include "apps/launch/audit_places.h"

#include <algorithm>

#include "records/audit_fold.h"
#include "records/value.h"

namespace swarm::launch {
namespace {

std::string text_of(const records::Object& line, const char* key) {
  const auto* value = records::find(line, key);
  return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
}

double time_of(const records::Object& line) {
  const auto* value = records::find(line, "time");
  return (value != nullptr ? value->number() : std::nullopt).value_or(0);
}

bool is_folded(const records::Object& line) {
  return text_of(line, "kind") == records::FoldedAudit::kKind;
}

}  // namespace

void AuditPlaces::remember(const std::string& text) {
  const auto line = records::parse_object(text);
  if (!line) return;
  const std::string node = text_of(*line, "node");
  if (is_folded(*line))
    for (const auto& writer : records::read_fields<records::FoldedAudit>(*line).writers)
      if (node.empty()) places_[writer.node_name].merged = writer;
  if (node.empty()) return;
  auto& merged = places_[node].merged;
  const uint64_t digest = records::digest_of(text);
  merged.same = merged.last == digest ? merged.same + 1 : 1;
  merged.last = digest;
  if (!is_folded(*line)) merged.time_s = time_of(*line);  // it is younger than what follows it
}

void AuditPlaces::look_at(const std::string& node, const std::string& line) {
  const auto place = places_.find(node);
  if (place != places_.end() && records::digest_of(line) == place->second.merged.last)
    ++place->second.there;
}

AuditPlaces::Verdict AuditPlaces::take(const std::string& node, const std::string& line) {
  const auto place = places_.find(node);
  if (stopped_ || (place != places_.end() && merged_before(place->second, line)))
    return Verdict::kMergedBefore;
  return records::parse_object(line) ? Verdict::kNew : Verdict::kDamaged;
}

/// Where the last merged line is gone (the node folded it, or began its file anew) time decides.
bool AuditPlaces::merged_before(Place& place, const std::string& text) const {
  if (place.reached) return false;
  if (place.there > 0) {
    place.passed += records::digest_of(text) == place.merged.last;
    place.reached = place.passed >= std::min(place.merged.same, place.there);
    return true;
  }
  const auto line = records::parse_object(text);
  if (!line || is_folded(*line)) return false;
  place.reached = time_of(*line) > place.merged.time_s;
  return !place.reached;
}

}  // namespace swarm::launch
