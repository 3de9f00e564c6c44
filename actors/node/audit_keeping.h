/// How the audit of a run with these options is kept.
#pragma once

#include "actors/node/options.h"
#include "records/audit_fold.h"
#include "records/segmented_file.h"

namespace swarm::actors {

/// Of an audit.jsonl of `node`; no name: of one that is merged from several nodes'.
inline records::SegmentLimits audit_limits(const NodeOptions& options, const std::string& node) {
  const auto mib = [](int32_t count) { return static_cast<uint64_t>(count) << 20; };
  if (options.audit_mb == 0) return {mib(options.records_mb), true, {}};
  const auto& training = options.training;
  const records::AuditRules rules{static_cast<uint32_t>(training.batch),
                                  static_cast<uint32_t>(training.microbatch),
                                  training.delayed_updates, training.replicas_equal()};
  return {mib(options.audit_mb), false, records::fold_audit(rules, node)};
}

}  // namespace swarm::actors
