/// An audit whose oldest lines were folded (records/audit_fold.h), each file at a step of its own. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/audit/audit_words.h"

namespace swarm::launch {

struct Beginning {
  uint64_t step = 0;  ///< The first one of which no file has folded a line.
  /// Of peers, where their state stood before their first line that counts. Each has the number of a
  /// line that counts no more.
  std::vector<Recorded<records::FoldedAudit::Peer>> states;
  std::vector<std::string> notes, violations;
};

/// Removes the lines of steps before that.
Beginning begin_after_folds(AuditLog& log);

}  // namespace swarm::launch
