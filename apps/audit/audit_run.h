/// The audit of a run folder, and how it is told.
#pragma once

#include <string>

#include "apps/audit/audit.h"
#include "common/result.h"
#include "config/experiment.h"

namespace swarm::launch {

/// Whether a run of it has something exact to check. Errors: kInvalidArgument (asynchronous mode).
Status can_be_exact(const config::Experiment& experiment);

/// Reads audit.jsonl, events.jsonl and nodes/*/text.json of `folder` and judges them. Errors: as can_be_exact() and
/// read_audit(); kInvalidArgument ("FILE:LINE: ...") for a line of events.jsonl that is none.
Result<AuditReport> audit_run(const std::string& folder, const config::Experiment& experiment);

/// For people: the numbers, notes, at most `max_violations` violations, the verdict.
std::string audit_text(const AuditReport& report, size_t max_violations);

/// For scripts: {"passed": ..., "finished": ..., numbers, "violations": [...], "notes": [...]}.
std::string audit_json(const AuditReport& report);

}  // namespace swarm::launch
