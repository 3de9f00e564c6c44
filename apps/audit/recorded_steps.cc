#include "apps/audit/recorded_steps.h"

#include <algorithm>

namespace swarm::launch {
namespace {

using records::CommittedStep;

RecordedMember member_of(const records::HeldSlots& held,
                         const std::vector<const CommittedStep*>& commits) {
  RecordedMember member{held.node_name, held.slots, false, false};
  for (const CommittedStep* done : commits) {
    if (!(done->held.peer == held.peer) || !done->brought) continue;
    member.told = true;
    member.gave_back = done->brought->gave_back;
    const auto& order = done->brought->order;  // of the slots that count, or it says nothing
    if (std::is_permutation(order.begin(), order.end(), held.slots.begin(), held.slots.end()))
      member.slots = order;
  }
  return member;
}

}  // namespace

RecordedSteps recorded_steps(const std::map<uint64_t, std::vector<const Closed*>>& history,
                             const std::map<std::pair<const Closed*, uint32_t>,
                                            std::vector<const CommittedStep*>>& commits) {
  RecordedSteps steps;
  for (const auto& [number, stages] : history) {
    const records::ClosedStep& first = stages.front()->record;
    RecordedStep step{number,
                      first.computed_on,
                      first.first_sample,
                      first.slots,
                      first.microbatch,
                      first.samples,
                      {},
                      {}};
    step.skipped.insert(first.skipped.begin(), first.skipped.end());
    for (uint32_t stage = 0; stage < stages.size(); ++stage) {
      if (stage >= stages[stage]->record.stages.size()) break;  // the audit has said so
      const auto& closed = stages[stage]->record.stages[stage];
      const auto found = commits.find({stages[stage], stage});
      const auto told =
          found == commits.end() ? std::vector<const CommittedStep*>() : found->second;
      RecordedRound round{closed.round, closed.digest, {}, {}};
      for (const auto& held : closed.members) round.members.push_back(member_of(held, told));
      for (const CommittedStep* done : told)
        if (done->brought) round.part_weights = done->brought->part_weights;
      step.rounds.push_back(std::move(round));
    }
    steps.emplace(number, std::move(step));
  }
  return steps;
}

}  // namespace swarm::launch
