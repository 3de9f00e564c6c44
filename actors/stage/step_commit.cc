#include "actors/stage/step_commit.h"

namespace swarm::actors {

StepCommit read_commit(const proto::CommitStep& message) {
  StepCommit commit;
  commit.step = Step(message.step());
  commit.round = Round(message.round());
  commit.gradient_norm = message.gradient_norm();
  commit.save = message.save_checkpoint();
  if (message.has_keep_step()) commit.keep_step = Step(message.keep_step());
  return commit;
}

}  // namespace swarm::actors
