/// A run's life on one time axis: live peers of each stage, and below them its events. Pure.
#pragma once

#include <string>

#include "apps/report/run.h"

namespace swarm::report {

/// Inline SVG; empty if the run has neither peers nor events to show. Events of one row that fall
/// into one column are one mark, which counts them and names the first. At most
/// kMostStagesShown stages; the chart says how many it leaves out.
std::string life_chart(const Run& run);
constexpr size_t kMostStagesShown = 32;

}  // namespace swarm::report
