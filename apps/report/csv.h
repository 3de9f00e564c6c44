/// The metrics of all runs as comma-separated values (RFC 4180, LF). Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/report/groups.h"
#include "apps/report/run.h"

namespace swarm::report {

/// Calls `write` with the header and then a line for each metrics line of each run, nothing left
/// out. Columns: docs/reports.md. Text that a spreadsheet would take for a formula begins with '.
void write_csv(const std::vector<Run>& runs, const std::vector<Group>& groups,
               const std::function<void(const std::string&)>& write);

/// `text` as one cell.
std::string csv_cell(const std::string& text);

}  // namespace swarm::report
