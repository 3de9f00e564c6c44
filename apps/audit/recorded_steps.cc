#include "apps/audit/recorded_steps.h"

#include <algorithm>

namespace swarm::launch {
namespace {

RecordedMember member_of(const records::HeldSlots& held) {
  RecordedMember member{held.node_name, held.slots, false, false};
  if (!held.brought) return member;
  std::vector<uint32_t> sorted = held.brought->order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != held.slots) return member;  // of other slots than count: it says nothing
  member.told = true;
  member.gave_back = held.brought->gave_back;
  member.slots = held.brought->order;
  return member;
}

}  // namespace

RecordedSteps recorded_steps(const std::map<uint64_t, std::vector<const Closed*>>& history) {
  RecordedSteps steps;
  for (const auto& [number, stages] : history) {
    const records::ClosedStep& first = stages.front()->record;
    RecordedStep& step = steps[number];
    step.step = number;
    step.computed_on = first.computed_on;
    step.first_sample = first.first_sample;
    step.slots = first.slots;
    step.microbatch = first.microbatch;
    step.samples = first.samples;
    step.skipped.insert(first.skipped.begin(), first.skipped.end());
    for (uint32_t stage = 0; stage < stages.size(); ++stage) {
      const records::ClosedStep& closed = stages[stage]->record;
      if (stage >= closed.stages.size()) break;  // the audit has said so
      const auto& own = closed.stages[stage];
      RecordedRound round{
          own.round, own.digest, {}, own.part_weights.value_or(std::vector<uint32_t>())};
      for (const auto& held : own.members) round.members.push_back(member_of(held));
      step.rounds.push_back(std::move(round));
    }
  }
  return steps;
}

}  // namespace swarm::launch
