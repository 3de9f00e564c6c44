/// Whether memory, messages and links have room for what an experiment does.
#pragma once

#include <string>
#include <vector>

#include "actors/node/options.h"

namespace swarm::config {

struct TooSmall {
  std::string key;
  std::string message;  ///< How much is expected, and what for.
};

/// A peer that has no room for two microbatches computes only while it receives nothing. Requires
/// more than one stage, a valid model, as many entries of layers_per_stage as stages or none.
std::vector<TooSmall> too_little_memory(const actors::NodeOptions& options);

/// What is sent in pieces, a piece a message: averages and states, whose pieces no link would take. A codec that would
/// make them smaller is not counted on.
std::vector<TooSmall> too_small_bodies(const actors::NodeOptions& options);

/// The rate that learned states are held to: the largest stage needs no more than a day. Requires what
/// too_little_memory() does, but for the number of stages.
std::vector<TooSmall> too_slow_states(const actors::NodeOptions& options);

}  // namespace swarm::config
