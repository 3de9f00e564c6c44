/// CommitStep, decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/keep_step.h"
#include "common/strong_id.h"
#include "records/audit.h"
#include "routing/steps/contributions.h"
#include "routing/steps/history.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

struct StepCommit {
  Step step;  ///< Whose average is applied.
  Round round;
  double gradient_norm = 0;
  bool save = false;             ///< A snapshot is wanted.
  std::optional<KeepStep> keep;  ///< Whose snapshot may not be pruned.
  routing::History after;        ///< Of the state that it makes.
};

StepCommit read_commit(const proto::CommitStep& message);

/// The line of the audit about an update that was made, without who made it: `digest` of its average,
/// `checksum` of the state afterwards, `held` in the peer's sum.
records::CommittedStep committed_line(const StepCommit& commit, uint64_t digest, uint64_t checksum,
                                      const std::vector<routing::Contributions::Held>& held);

}  // namespace swarm::actors
