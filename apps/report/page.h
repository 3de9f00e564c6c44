/// The report: one self-contained HTML page. Pure: runs in, text out.
#pragma once

#include <string>
#include <vector>

#include "apps/report/groups.h"
#include "apps/report/run.h"

namespace swarm::report {

/// All text in `runs` is untrusted and is escaped. The size depends on the number of
/// runs, stages and events' columns, not on the number of steps. Requires runs with names that
/// differ.
std::string html_page(const std::vector<Run>& runs, const std::vector<Group>& groups);

/// What the page is made of besides its numbers (page_assets.cc).
extern const char* const kStyle;
extern const char* const kScript;

}  // namespace swarm::report
