#include "apps/audit/check_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace swarm::launch {
namespace {

void check_numbers(const records::ClosedStep& closed, const AuditContext& context,
                   std::vector<std::string>& violations) {
  const std::string where = at(closed.step);
  if (closed.microbatch != context.microbatch ||
      uint64_t{closed.slots} * closed.microbatch != context.batch)
    violations.push_back(fmt::format("{}: {} slots of {} samples are not the batch of {}", where,
                                     closed.slots, closed.microbatch, context.batch));
  if (closed.first_sample != closed.step * context.batch)
    violations.push_back(fmt::format("{}: begins at sample {} of the data order, not at {}", where,
                                     closed.first_sample, closed.step * context.batch));
  const bool delayed = context.delayed_updates && closed.computed_on + 1 == closed.step;
  if (closed.computed_on != closed.step && !delayed)
    violations.push_back(
        fmt::format("{}: computed on the parameters after {} updates", where, closed.computed_on));
  std::set<uint32_t> skipped(closed.skipped.begin(), closed.skipped.end());
  if (skipped.size() != closed.skipped.size())
    violations.push_back(where + ": a slot is skipped twice");
  if (!skipped.empty() && *skipped.rbegin() >= closed.slots)
    violations.push_back(fmt::format("{}: slot {} is skipped and none", where, *skipped.rbegin()));
  const uint64_t counted = closed.slots - std::min<uint64_t>(skipped.size(), closed.slots);
  if (closed.samples != counted * closed.microbatch)
    violations.push_back(fmt::format("{}: the sum was divided by {} samples, {} are in it", where,
                                     closed.samples, counted * closed.microbatch));
}

/// Each slot exactly once, skipped ones nowhere.
void check_matrix(const records::ClosedStep& closed, size_t stage,
                  const std::set<uint32_t>& skipped, std::vector<std::string>& violations) {
  const std::string where = at(closed.step, stage);
  std::map<uint32_t, const records::HeldSlots*> holders;
  for (const records::HeldSlots& member : closed.stages[stage].members) {
    for (const uint32_t slot : member.slots) {
      const std::string name = fmt::format("{}: slot {}", where, slot);
      const auto [place, added] = holders.emplace(slot, &member);
      if (!added)
        violations.push_back(name + " is counted twice, at " + who(*place->second) + " and " +
                             who(member));
      if (slot >= closed.slots)
        violations.push_back(name + " is none of the step's, at " + who(member));
      if (skipped.count(slot) > 0)
        violations.push_back(name + " is skipped but counted at " + who(member));
    }
  }
  for (uint32_t slot = 0; slot < closed.slots; ++slot)
    if (holders.count(slot) == 0 && skipped.count(slot) == 0)
      violations.push_back(fmt::format("{}: slot {} is counted nowhere", where, slot));
}

}  // namespace

void check_step(const std::vector<const Closed*>& stages, const AuditContext& context,
                std::vector<std::string>& violations) {
  std::set<const Closed*> seen;
  for (uint32_t stage = 0; stage < stages.size(); ++stage) {
    const records::ClosedStep& closed = stages[stage]->record;
    if (seen.insert(stages[stage]).second) check_numbers(closed, context, violations);
    if (closed.skipped != stages[0]->record.skipped)
      violations.push_back(at(closed.step, stage) + ": other slots are skipped than in stage 0");
    const std::set<uint32_t> skipped(closed.skipped.begin(), closed.skipped.end());
    if (closed.slots <= context.batch && stage < closed.stages.size())
      check_matrix(closed, stage, skipped, violations);
  }
}

}  // namespace swarm::launch
