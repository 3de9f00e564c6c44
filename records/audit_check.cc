#include "records/audit_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/hex.h"

namespace swarm::records {

std::string at(uint64_t step) { return "step " + std::to_string(step); }
std::string at(uint64_t step, size_t stage) { return fmt::format("{}, stage {}", at(step), stage); }

std::string who(const HeldSlots& held) { return held.node_name + " (" + held.peer.brief() + ")"; }

std::string list(const HeldSlots& held) {
  std::string text;
  for (size_t i = 0; i < held.slots.size() && i < held.attempts.size(); ++i)
    text += fmt::format("{}{}:{}", i > 0 ? " " : "", held.slots[i], held.attempts[i]);
  return text.empty() ? "nothing" : text;
}

bool same_held(const HeldSlots& a, const HeldSlots& b) {
  return a.slots == b.slots && a.attempts == b.attempts;
}

void check_numbers(const ClosedStep& closed, const AuditRules& rules, Violations& violations) {
  const std::string where = at(closed.step);
  if (closed.microbatch != rules.microbatch ||
      uint64_t{closed.slots} * closed.microbatch != rules.batch)
    violations.push_back(fmt::format("{}: {} slots of {} samples are not the batch of {}", where,
                                     closed.slots, closed.microbatch, rules.batch));
  if (closed.first_sample != closed.step * rules.batch)
    violations.push_back(fmt::format("{}: begins at sample {} of the data order, not at {}", where,
                                     closed.first_sample, closed.step * rules.batch));
  const bool delayed = rules.delayed_updates && closed.computed_on + 1 == closed.step;
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

void check_matrix(const ClosedStep& closed, size_t stage, const AuditRules& rules,
                  Violations& violations) {
  if (closed.slots > rules.batch || stage >= closed.stages.size()) return;
  const std::string where = at(closed.step, stage);
  const std::set<uint32_t> skipped(closed.skipped.begin(), closed.skipped.end());
  std::map<uint32_t, const HeldSlots*> holders;
  for (const HeldSlots& member : closed.stages[stage].members) {
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

void check_member(const CommittedStep& done, const ClosedStep& closed, Violations& violations) {
  const std::string where = at(done.step, done.stage) + ": " + who(done.held);
  const auto& stage = closed.stages[done.stage];
  if (stage.digest != done.digest)
    violations.push_back(where + " applied the average " + hex(done.digest) + ", decided was " +
                         hex(stage.digest));
  if (done.history != closed.history && done.history != 0 && closed.history != 0)
    violations.push_back(where + " names the history " + hex(done.history) + ", decided was " +
                         hex(closed.history));
  for (const HeldSlots& member : stage.members) {
    if (!(member.peer == done.held.peer)) continue;
    if (!same_held(member, done.held))
      violations.push_back(where + " held other slots or attempts than those that were counted: " +
                           list(done.held) + ", not " + list(member));
    return;
  }
  violations.push_back(where + " committed but was no member of the round");
}

void check_goes_on(const CommittedStep& done, std::optional<uint64_t> state_step,
                   Violations& violations) {
  const std::string where = at(done.step, done.stage) + ": " + who(done.held);
  if (!state_step)
    violations.push_back(where + " committed and never said where its state is from");
  else if (*state_step != done.step)
    violations.push_back(where + " committed while its state was that of " + at(*state_step));
}

}  // namespace swarm::records
