/// Whose turn it is to send one chunk where rates are limited (actors/net/links/shape/options.h):
/// over all links the most urgent class first, but for the share that states have
/// (actors/net/state_share.h), of equals who has waited longest. A link whose own rate holds it
/// back stands in no line, so that it takes nobody's turn. Without a limit everybody may send at any
/// time. Pure; one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "actors/net/links/node_table.h"
#include "actors/net/links/send_limit.h"
#include "actors/net/state_share.h"
#include "actors/net/traffic.h"

namespace swarm::actors::links {

class SendTurns {
 public:
  using TimePoint = SendLimit::TimePoint;

  explicit SendTurns(double bytes_per_s, double join_share = kJoinShare)
      : limit_(bytes_per_s), share_(join_share) {}

  /// Of all links together, and of `conn` alone, from now on; 0: no limit.
  void set_rate(double bytes_per_s, TimePoint now) { limit_.set_rate(bytes_per_s, now); }
  void set_rate(ConnId conn, double bytes_per_s, TimePoint now);
  bool limited() const { return limit_.limited() || !own_.empty(); }

  /// Whether `conn`, which has something to send, may send a chunk now; otherwise it waits in line.
  bool may_send(ConnId conn, TimePoint now);
  void sent(ConnId conn, size_t bytes);
  void forget(ConnId conn);
  /// Of a chunk of `conn`.
  size_t chunk_bytes(ConnId conn, size_t at_most) const;

  /// Gives turns until the limits are reached or nobody waits: `wake(conn)` is to call may_send();
  /// `traffic(conn)` is the class of its next chunk.
  template <class Traffic, class Wake>
  void serve(TimePoint now, Traffic traffic, Wake wake) {
    release(now);
    while (!waiting_.empty() && limit_.may_send(now)) {
      auto first = std::min_element(waiting_.begin(), waiting_.end(), [&](ConnId a, ConnId b) {
        return share_.rank(traffic(a)) < share_.rank(traffic(b));
      });
      const auto of_state = [&](ConnId conn) { return traffic(conn) == TrafficClass::kState; };
      const auto contends = [&](ConnId conn) { return StateShare::contends(traffic(conn)); };
      both_wait_ = std::any_of(waiting_.begin(), waiting_.end(), of_state) &&
                   std::any_of(waiting_.begin(), waiting_.end(), contends);
      served_ = traffic(*first);
      turn_ = Turn::kOne;
      whose_ = *first;
      waiting_.erase(first);
      wake(whose_);
      turn_ = Turn::kNobody;
      both_wait_ = false;
    }
  }
  bool anybody_waits() const { return !waiting_.empty() || !held_.empty(); }

 private:
  enum class Turn {
    kNobody,  ///< Not serving: whoever comes may send, unless others wait.
    kOne,     ///< Serving: `whose_` may send one chunk.
    kTaken,   ///< Serving: it has.
  };
  /// Those that their own rate holds back no longer stand in line.
  void release(TimePoint now);

  SendLimit limit_;
  std::map<ConnId, SendLimit> own_;  // of limited links
  std::vector<ConnId> waiting_;      // for limit_; who has waited longest first
  std::set<ConnId> held_;            // for their own limit
  Turn turn_ = Turn::kNobody;
  ConnId whose_ = 0;
  StateShare share_;
  TrafficClass served_ = TrafficClass::kControl;  // whose turn it is
  bool both_wait_ = false;                        // states and another class, in this turn
};

}  // namespace swarm::actors::links
