#include "apps/audit/check_step.h"

#include <set>

namespace swarm::launch {

void check_step(const std::vector<const Closed*>& stages, const AuditContext& context,
                std::vector<std::string>& violations) {
  std::set<const Closed*> seen;
  for (uint32_t stage = 0; stage < stages.size(); ++stage) {
    const records::ClosedStep& closed = stages[stage]->record;
    if (seen.insert(stages[stage]).second)
      records::check_numbers(closed, context.rules(), violations);
    if (closed.skipped != stages[0]->record.skipped)
      violations.push_back(at(closed.step, stage) + ": other slots are skipped than in stage 0");
    records::check_matrix(closed, stage, context.rules(), violations);
  }
}

}  // namespace swarm::launch
