/// The steps of a run's history as its nodes made them: what `swarm verify` does again where codecs take
/// something of what travels, and so who computed what shows in the bits. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/audit/audit_words.h"

namespace swarm::launch {

/// A member of a stage's round.
struct RecordedMember {
  std::string node;
  std::vector<uint32_t> slots;  ///< As they were added to its sum; ascending if it told nothing.
  /// `slots` have its order, and `gave_back` says whether it had something that codecs had taken before.
  bool told = false;
  bool gave_back = false;
};

struct RecordedRound {
  uint64_t round = 0;
  uint64_t digest = 0;  ///< Of the mean.
  std::vector<RecordedMember> members;
  std::vector<uint32_t> part_weights;  ///< Of all members; empty: it is not known.
};

struct RecordedStep {
  uint64_t step = 0;
  uint64_t computed_on = 0;   ///< Updates in the parameters.
  uint64_t first_sample = 0;  ///< As in ClosedStep, likewise:
  uint32_t slots = 0, microbatch = 0, samples = 0;
  std::set<uint32_t> skipped;
  std::vector<RecordedRound> rounds;  ///< By stage.
};

/// By step.
using RecordedSteps = std::map<uint64_t, RecordedStep>;

/// `history`: of each step the closing that each stage descends from.
RecordedSteps recorded_steps(const std::map<uint64_t, std::vector<const Closed*>>& history);

}  // namespace swarm::launch
