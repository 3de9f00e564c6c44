#include "actors/stage/step_commit.h"

#include <algorithm>

#include "actors/net/requests.h"

namespace swarm::actors {

StepCommit read_commit(const proto::CommitStep& message, Term term) {
  StepCommit commit;
  commit.term = term;
  commit.step = Step(message.step());
  commit.round = Round(message.round());
  commit.gradient_norm = message.gradient_norm();
  commit.save = message.save_checkpoint();
  if (message.has_keep()) commit.keep = keep_step_of(message.keep());
  commit.after = routing::History(message.history());
  for (const uint64_t round : message.rounds()) commit.rounds.emplace_back(round);
  return commit;
}

UpdateJob update_job(const Buffer& mean, double clip_scale, routing::History after, bool of_two,
                     uint64_t before) {
  return [=](tensor::Stage& stage) -> Result<AppliedUpdate> {
    AppliedUpdate update;
    update.changed_at_rest = of_two && before != 0 && stage.state_checksum() != before;
    const auto scales = stage.apply(mean, clip_scale);
    if (!scales) return scales.error();
    stage.set_history(after.value());
    update.checksum = stage.state_checksum();
    update.scales = *scales;
    return update;
  };
}

routing::AppliedMean mean_of(const StepCommit& commit, const AppliedUpdate& update) {
  routing::AppliedMean mean;
  mean.after = {commit.step + 1, update.checksum, commit.after};
  mean.round = commit.round;
  mean.clip_scale = update.scales.clip_scale;
  mean.factors = update.scales.factors;
  return mean;
}

proto::BroughtIn brought_into(const AverageRound& round,
                              std::vector<routing::Contributions::Held> held) {
  using Held = routing::Contributions::Held;
  std::sort(held.begin(), held.end(),
            [](const Held& a, const Held& b) { return a.place < b.place; });
  proto::BroughtIn brought;
  for (const Held& one : held) brought.add_order(one.slot.value());
  const auto& before = round.residuals;
  brought.set_gave_back(before && before->contribution.count() + before->mean.count() > 0);
  return brought;
}

records::CommittedStep committed_line(const StepCommit& commit, uint64_t digest, uint64_t checksum,
                                      const std::vector<routing::Contributions::Held>& held) {
  records::CommittedStep line;
  line.step = commit.step.value();
  line.round = commit.round.value();
  line.digest = digest;
  line.checksum = checksum;
  line.history = commit.after.value();
  for (const auto& one : held) {
    line.held.slots.push_back(one.slot.value());
    line.held.attempts.push_back(one.attempt.value());
  }
  return line;
}

}  // namespace swarm::actors
