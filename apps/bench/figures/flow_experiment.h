/// A FlowScenario as an experiment of processes: computing is a delay, links are shaped
/// (docs/bad_network.md). Pure.
#pragma once

#include <cstddef>
#include <string>

#include "apps/bench/figures/flow.h"

namespace swarm::apps {

/// The text of its file. A model that is as small as learns something, so that computing is mostly the
/// delay; activations of 512 KiB a microbatch. Ways of less than 5 ms are left as on loopback.
std::string flow_experiment(const FlowScenario& scenario);

/// What of the bytes that a microbatch makes a peer in the middle of the pipeline send, and receive, are
/// those of a peer of `stage`: the first stage gets no activations, the last one sends none.
double link_part(const FlowScenario& scenario, size_t stage);

}  // namespace swarm::apps
