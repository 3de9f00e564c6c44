/// The tables of a report as HTML. Pure.
#pragma once

#include <string>
#include <vector>

#include "apps/report/groups.h"
#include "apps/report/run.h"

namespace swarm::report {

/// A row for each run; a group of several runs has a row above them with its mean and extremes.
std::string summary_table(const std::vector<Run>& runs, const std::vector<Group>& groups);

/// Settings in which runs differ, a column for each run.
std::string differences_table(const std::vector<Run>& runs, const std::vector<Group>& groups);

/// What could not be read and the like; empty if there is nothing to say.
std::string notes_list(const std::vector<Run>& runs);

}  // namespace swarm::report
