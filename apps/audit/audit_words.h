/// How the parts of an audit name what they talk about. Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "apps/launch/audit_log.h"
#include "records/audit_check.h"

namespace swarm::launch {

using Closed = Recorded<records::ClosedStep>;
using Committed = Recorded<records::CommittedStep>;
using Loaded = Recorded<records::LoadedState>;
using StageStep = std::pair<uint32_t, uint64_t>;

using records::at;
using records::list;
using records::same_held;
using records::who;

}  // namespace swarm::launch
