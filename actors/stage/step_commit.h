/// CommitStep, decoded.
#pragma once

#include <optional>

#include "common/strong_id.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

struct StepCommit {
  Step step;  ///< Whose average is applied.
  Round round;
  double gradient_norm = 0;
  bool save = false;              ///< A snapshot is wanted.
  std::optional<Step> keep_step;  ///< Whose snapshot may not be pruned.
};

StepCommit read_commit(const proto::CommitStep& message);

}  // namespace swarm::actors
