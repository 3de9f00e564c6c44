/// Where a microbatch's time goes at one peer: noted on its way, told in the reply.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actors/net/link_rates.h"
#include "actors/net/mail.h"
#include "routing/wiring/occupancy.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

/// Moments and durations [s] of one microbatch, and its bytes on the peer's links. A plain record of
/// one owner.
class MicrobatchTimes {
 public:
  /// It stands in a queue from now on, or no longer.
  void queued(double now_s) { since_s_ = now_s; }
  /// Returns how long it stood there.
  double begun(double now_s) {
    queue_s_ += now_s - since_s_;
    return now_s - since_s_;
  }
  void computed(double seconds) { compute_s_ += seconds; }
  void sent_on(double now_s, uint64_t bytes) {
    since_s_ = now_s;
    sent_bytes_ += bytes;
  }
  /// `waited_s`: what of the time since sent_on() was waiting.
  void came_back(double now_s, uint64_t bytes, double waited_s) {
    downstream_s_ += now_s - since_s_;
    received_bytes_ += bytes;
    downstream_waited_s_ += waited_s;
  }
  void received(uint64_t bytes) { received_bytes_ += bytes; }

  double compute_s() const { return compute_s_; }
  /// Fills in what ForwardReply tells of times; all else but `body_bytes` of it is there.
  void tell(proto::ForwardReply& reply, uint64_t body_bytes, const std::string& asker,
            const LinkRates& rates) const;

 private:
  double since_s_ = 0;
  double queue_s_ = 0, compute_s_ = 0, downstream_s_ = 0, downstream_waited_s_ = 0;
  uint64_t sent_bytes_ = 0, received_bytes_ = 0;
};

/// How long mail of `own_bytes` for `to` waits for others in the node's links [s]. As many are taken
/// off the queue: what is on the wire at the moment holds nobody up that an idle wire would not.
double waits_in_links_s(const LinkRates& rates, const NodeId& to, uint64_t own_bytes);

/// What mail weighs on a link, all but a few bytes.
uint64_t bytes_of(const Mail& mail);

/// What a reply tells of its peer, and what the sender knows of the way there (`request_bytes` at
/// its own link's rate), checked.
routing::Occupancy occupancy_of(const proto::ForwardReply& reply, uint64_t request_bytes,
                                double pair_bytes_per_s);

/// What of the `took_s` until this reply was waiting at the peer and behind it, as far as it can be:
/// no less than in its own queues. What cannot be counts as not told.
double told_waited_s(const proto::ForwardReply& reply, double took_s);
/// What of it passed at the peer and behind it at all, likewise: all but the way there and back.
double told_inside_s(const proto::ForwardReply& reply, double took_s);

/// What of `waited_s` was neither work nor queue, as far as the reply tells. Nothing when it came
/// faster than it says that it took: the result of an earlier request.
std::optional<double> away_s(const proto::ForwardReply& reply, const routing::Occupancy& took,
                             double waited_s);

}  // namespace swarm::actors
