/// Which links nobody has a use for any more. Pure.
///
/// Closing takes both sides, so that no mail is lost: one gives the link up, the other, if it has no
/// use for it either, does the same; from then on new mail of both dials anew, and the side that
/// dialled closes when nothing has been under way for a while. No request fails, nobody is told that
/// a node is gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "actors/net/links/node_table.h"

namespace swarm::actors::links {

struct IdleRules {
  double idle_close_s = 60;
  size_t max_links = 256;  ///< Beyond it links are given up after kShortIdle.

  static constexpr std::chrono::milliseconds kShortIdle{1'000};
  /// A side that has given a link up hears within this whether the other does, and mostly within
  /// kQuickAnswer; who does not answer has a use for it.
  static constexpr std::chrono::seconds kAnswer{10}, kQuickAnswer{2};
};

/// A link that no actor of this node has a use for, without anything under way.
struct UnneededLink {
  ConnId conn = 0;
  NodeTable::TimePoint last_mail{};
};

/// Those to give up at `now`, the least recently used first. `links`: all of the node's that carry mail.
std::vector<ConnId> to_give_up(std::vector<UnneededLink> unneeded, size_t links,
                               NodeTable::TimePoint now, const IdleRules& rules);

}  // namespace swarm::actors::links
