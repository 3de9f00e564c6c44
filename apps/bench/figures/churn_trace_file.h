/// Traces of churn as files, to replay what really happened to somebody's nodes. Pure.
///
///     # seconds  node  what
///     0      worker-3  join
///     512.5  worker-3  leave
///
/// A line an event, in order of time; blanks or commas between its three words, comments behind '#'. Times are
/// seconds from any beginning, unix time too: the first event is at 0. A node may come back.
#pragma once

#include <string>

#include "apps/bench/figures/churn_trace.h"
#include "common/result.h"

namespace swarm::apps {

/// `file`: its name, for errors. Errors: kInvalidArgument, "FILE:LINE: ...".
Result<ChurnTrace> parse_trace(const std::string& text, const std::string& file);

/// What parse_trace() reads as the same trace, to a thousandth of a second.
std::string print_trace(const ChurnTrace& trace);

/// What is replayed of a trace that nobody drew. `hours` 0: to its last event. Errors: kInvalidArgument (no event,
/// no time, fewer hours than it has).
Result<ChurnProfile> profile_of(const ChurnTrace& trace, const std::string& name, uint32_t stages,
                                double hours);

}  // namespace swarm::apps
