/// Whose turn it is to send one chunk where a node's rate is limited (LinksOptions::
/// send_bytes_per_s): over all links the most urgent class first, of equals who has waited longest.
/// Without a limit everybody may send at any time. Pure; one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "actors/net/links/node_table.h"
#include "actors/net/links/send_limit.h"
#include "actors/net/traffic.h"

namespace swarm::actors::links {

class SendTurns {
 public:
  using TimePoint = SendLimit::TimePoint;

  explicit SendTurns(double bytes_per_s) : limit_(bytes_per_s) {}

  /// Whether `conn`, which has something to send, may send a chunk now; otherwise it waits in line.
  bool may_send(ConnId conn, TimePoint now);
  void sent(size_t bytes) { limit_.sent(bytes); }
  void forget(ConnId conn);
  size_t chunk_bytes(size_t at_most) const { return limit_.chunk_bytes(at_most); }

  /// Gives turns until the limit is reached or nobody waits: `wake(conn)` is to call may_send();
  /// `traffic(conn)` is the class of its next chunk.
  template <class Traffic, class Wake>
  void serve(TimePoint now, Traffic traffic, Wake wake) {
    while (!waiting_.empty() && limit_.may_send(now)) {
      auto first = std::min_element(waiting_.begin(), waiting_.end(),
                                    [&](ConnId a, ConnId b) { return traffic(a) < traffic(b); });
      turn_ = Turn::kOne;
      whose_ = *first;
      waiting_.erase(first);
      wake(whose_);
      turn_ = Turn::kNobody;
    }
  }
  bool anybody_waits() const { return !waiting_.empty(); }

 private:
  enum class Turn {
    kNobody,  ///< Not serving: whoever comes may send, unless others wait.
    kOne,     ///< Serving: `whose_` may send one chunk.
    kTaken,   ///< Serving: it has.
  };
  SendLimit limit_;
  std::vector<ConnId> waiting_;  // who has waited longest first
  Turn turn_ = Turn::kNobody;
  ConnId whose_ = 0;
};

}  // namespace swarm::actors::links
