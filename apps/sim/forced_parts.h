/// Runs whose network is in two parts for long: they train meanwhile, so they are longer and slower.
#pragma once

#include <chrono>
#include <cstdint>

#include "actors/node/options.h"

namespace swarm::sim {

/// By how much longer faults are drawn.
constexpr std::chrono::seconds kDividedFor{40};

/// Draws how many steps there are, and whether a part goes on by itself. Returns how many times as long jobs
/// take as elsewhere.
int64_t draw_divided(actors::TrainingOptions& training, uint64_t seed);

}  // namespace swarm::sim
