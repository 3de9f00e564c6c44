/// The roles' names for what they record (records/event_log.h).
#pragma once

#include "records/event_log.h"

namespace swarm::actors {

using records::ClosedStep;
using records::CommittedStep;
using records::EventLog;
using records::HeldSlots;
using records::LoadedState;
using records::MemoryEventLog;
using records::StageStaleness;
using records::StepMetrics;

}  // namespace swarm::actors
