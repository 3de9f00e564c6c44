/// What a line of audit.jsonl must say whatever other files hold: shared by `swarm audit` and by what
/// folds the oldest lines (records/audit_fold.h). Pure. Each check appends a clear line for what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/audit.h"

namespace swarm::records {

/// Of the run.
struct AuditRules {
  uint32_t batch = 0, microbatch = 0;
  bool delayed_updates = false;
  bool exact = true;  ///< False: asynchronous mode, where nothing is to be checked.
};

using Violations = std::vector<std::string>;

std::string at(uint64_t step);                ///< "step 3"
std::string at(uint64_t step, size_t stage);  ///< "step 3, stage 1"
std::string who(const HeldSlots& held);
/// "slot:attempt ..."
std::string list(const HeldSlots& held);
bool same_held(const HeldSlots& a, const HeldSlots& b);

/// Batch, samples, skipped slots.
void check_numbers(const ClosedStep& closed, const AuditRules& rules, Violations& violations);
/// The stage counts each slot exactly once, skipped ones nowhere.
void check_matrix(const ClosedStep& closed, size_t stage, const AuditRules& rules,
                  Violations& violations);
/// What the peer did against what was decided for its round; `closed` has its stage.
void check_member(const CommittedStep& done, const ClosedStep& closed, Violations& violations);
/// A peer's steps rise by one, from a state that it said it has: `state_step`, if it did.
void check_goes_on(const CommittedStep& done, std::optional<uint64_t> state_step,
                   Violations& violations);

}  // namespace swarm::records
