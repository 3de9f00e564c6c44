/// Reads a run folder for a report; the run may go on meanwhile.
#pragma once

#include <string>

#include "apps/report/run.h"
#include "common/result.h"

namespace swarm::report {

/// Memory grows with the files' sizes and with nothing that they say. Torn last lines, damaged
/// lines and missing files become notes. Errors: kNotFound (neither config.toml nor metrics.jsonl:
/// no run folder).
Result<Run> read_run(const std::string& folder);

}  // namespace swarm::report
