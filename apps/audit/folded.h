/// An audit whose oldest lines were folded (records/audit_fold.h), each file at a step of its own. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apps/audit/audit.h"
#include "apps/audit/audit_words.h"
#include "apps/audit/peer_walk.h"

namespace swarm::launch {

struct Beginning {
  uint64_t step = 0;  ///< The first one of which no file has folded a line.
  /// Of peers, where their state stood before their first line that counts, and before that what they
  /// gave up there. Each has the number of a line that counts no more.
  std::vector<Recorded<records::FoldedAudit::Peer>> states;
  std::vector<std::string> notes, violations;
  AuditLog before;  ///< Lines of earlier steps in files that have not folded them.
};

/// Takes the lines of steps before that out of `log`.
Beginning begin_after_folds(AuditLog& log);

/// Adds to the violations what those lines say by themselves, and commits with their closings where both
/// are there: no fold has judged them.
void check_before(const AuditContext& context, Beginning& begin);

/// What the step began with, after folds, into the report's checksums: states to which the history's
/// update was added, by whoever had them; else where peers ended. Others were given up if their peers
/// went on elsewhere, or their history says so.
void begin_checksums(uint64_t step, const std::map<PeerId, std::map<size_t, PeerLine>>& peers,
                     const std::function<bool(const records::CommittedStep&)>& in_history,
                     AuditReport& report);

}  // namespace swarm::launch
