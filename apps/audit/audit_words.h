/// How the parts of an audit name what they talk about. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "apps/launch/audit_log.h"

namespace swarm::launch {

using Closed = Recorded<records::ClosedStep>;
using Committed = Recorded<records::CommittedStep>;
using Loaded = Recorded<records::LoadedState>;
using StageStep = std::pair<uint32_t, uint64_t>;

std::string at(uint64_t step);                ///< "step 3"
std::string at(uint64_t step, size_t stage);  ///< "step 3, stage 1"
std::string who(const records::HeldSlots& held);
/// "slot:attempt ..."
std::string list(const records::HeldSlots& held);
bool same_held(const records::HeldSlots& a, const records::HeldSlots& b);

}  // namespace swarm::launch
