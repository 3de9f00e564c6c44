/// A deliberate defect at one slot of one step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/microbatch_key.h"
#include "common/strong_id.h"

namespace swarm::routing {

struct SlotFault {
  Step step;
  Slot slot;
  std::optional<Stage> stage;  ///< Nothing: at every one.

  bool hits(const MicrobatchKey& key, Stage at_stage) const {
    return key.step == step && key.slot == slot && stage.value_or(at_stage) == at_stage;
  }
};

/// Reads "STEP:SLOT" or "STEP:SLOT:STAGE". Nothing for anything else: no defect.
std::optional<SlotFault> parse_slot_fault(const std::string& text);

}  // namespace swarm::routing
