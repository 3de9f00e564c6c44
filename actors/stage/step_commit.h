/// CommitStep, decoded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "common/buffer.h"
#include "common/keep_step.h"
#include "common/strong_id.h"
#include "records/audit.h"
#include "routing/state/recent_means.h"
#include "routing/steps/contributions.h"
#include "routing/steps/history.h"
#include "swarm/train.pb.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

struct StepCommit {
  Term term;  ///< Whose it is.
  Step step;  ///< Whose average is applied.
  Round round;
  double gradient_norm = 0;
  bool save = false;             ///< A snapshot is wanted.
  std::optional<KeepStep> keep;  ///< Whose snapshot may not be pruned.
  routing::History after;        ///< Of the state that it makes.
  std::vector<Round> rounds;     ///< By stage, for a coordinator that has to finish the commit.
};

struct AppliedUpdate {  ///< What the compute job of an update gives.
  uint64_t checksum = 0;
  bool changed_at_rest = false;
  tensor::UpdateScales scales{};
};
using UpdateJob = std::function<Result<AppliedUpdate>(tensor::Stage&)>;
/// Applies `mean`. Of two peers no majority says whose state is wrong: each looks whether its own is still
/// what the last update left, `before`. That reads the state once more; with more peers, or alone, nobody
/// would learn from it. `before` 0: not known.
UpdateJob update_job(const Buffer& mean, double clip_scale, routing::History after, bool of_two,
                     uint64_t before);

StepCommit read_commit(const proto::CommitStep& message, Term term);

/// What `commit` led to; from which state, and by which average, is for the caller to say.
routing::AppliedMean mean_of(const StepCommit& commit, const AppliedUpdate& update);

/// How `held` goes into `round`, for the audit.
proto::BroughtIn brought_into(const AverageRound& round,
                              std::vector<routing::Contributions::Held> held);

/// The line of the audit about an update that was made, without who made it: `digest` of its average,
/// `checksum` of the state afterwards, `held` in the peer's sum.
records::CommittedStep committed_line(const StepCommit& commit, uint64_t digest, uint64_t checksum,
                                      const std::vector<routing::Contributions::Held>& held);

}  // namespace swarm::actors
