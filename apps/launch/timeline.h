/// Which entries of a timeline are due. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace swarm::launch {

/// The file's entries, then two for each of the nodes' `preempt`, in the order of the nodes: an
/// entry keeps its index, so a resumed run knows which ones are done.
std::vector<config::TimelineEvent> with_preemptions(const config::Experiment& experiment);

/// Whether the timeline or [chaos] may ever do `action`.
bool uses(const config::Experiment& experiment, config::TimelineAction action);

/// Indexes of entries whose time has come and that are not in `done`, in the order of the file.
std::vector<size_t> due(const std::vector<config::TimelineEvent>& timeline,
                        const std::set<size_t>& done, uint64_t steps_closed, double seconds);

/// True if an entry not in `done` starts or resumes `node`: its loss is meant to be temporary.
bool will_return(const std::vector<config::TimelineEvent>& timeline, const std::set<size_t>& done,
                 const std::string& node);

/// Empty, or why training cannot go on with the processes in `alive` (names): a stage without a
/// process that no other can spare one for, or no trainer, and none on its way back.
std::string cannot_go_on(const config::Experiment& experiment, const std::set<std::string>& alive,
                         const std::set<size_t>& done);

/// What a person should know before the run begins: with one trainer there is nobody who takes over, and a
/// stage is taken over only if the run has not been given up before.
std::vector<std::string> weak_points(const config::Experiment& experiment);

/// The first of these, if no more than one node is a trainer by the file, or is `also`; else "".
std::string lone_trainer(const config::Experiment& experiment, const std::string& also = "");

}  // namespace swarm::launch
