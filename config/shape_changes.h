/// Changes of links while a swarm runs, as text: RUN/links.toml, which `swarm run` writes and nodes
/// started with --follow-links read again when it changes (docs/bad_network.md).
///
///   [[change]]
///   node = "s0-a"
///   to = "s1-*"
///   bytes_per_s = 1e6
///
/// All entries count, in their order, after what the experiment says.
#pragma once

#include <string>
#include <vector>

#include "actors/net/links/shape/options.h"
#include "common/result.h"

namespace swarm::config {

/// What is wrong with `change` taken by itself, names aside; empty: nothing.
std::string fault_of(const actors::ShapeChange& change);
/// "expected 0 or at least ..." for a rate too low for heartbeats; empty: fine.
std::string fault_of_rate(double bytes_per_s);

std::string to_links_toml(const std::vector<actors::ShapeChange>& changes);

/// Errors: kInvalidArgument with the file, line and column of the first fault and what to write.
Result<std::vector<actors::ShapeChange>> parse_links_toml(const std::string& text,
                                                          const std::string& file);

}  // namespace swarm::config
