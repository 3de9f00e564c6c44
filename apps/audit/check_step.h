/// Whether a step that counts holds what it must: each slot once in every stage. Pure.
#pragma once

#include <string>
#include <vector>

#include "apps/audit/audit.h"
#include "apps/audit/audit_words.h"

namespace swarm::launch {

/// Parts of a divided network may each have supplied a stage; then they have counted the same.
/// `stages`: of each stage the closing that counts. Appends to `violations` what cannot be.
void check_step(const std::vector<const Closed*>& stages, const AuditContext& context,
                std::vector<std::string>& violations);

}  // namespace swarm::launch
