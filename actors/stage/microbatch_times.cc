#include "actors/stage/microbatch_times.h"

#include <algorithm>

namespace swarm::actors {

using routing::seconds_at;

namespace {
/// Clocks and rounding apart, no answer comes sooner than what was done for it takes.
constexpr double kAsTold = 0.9;
}  // namespace

void MicrobatchTimes::tell(proto::ForwardReply& reply, uint64_t body_bytes,
                           const std::string& asker, const LinkRates& rates) const {
  const uint64_t reply_bytes = reply.ByteSizeLong() + body_bytes;
  reply.set_compute_s(static_cast<float>(compute_s_));
  reply.set_downstream_s(static_cast<float>(downstream_s_));
  double queue_s = queue_s_;
  reply.set_uplink_s(static_cast<float>(seconds_at(sent_bytes_ + reply_bytes, rates.send)));
  reply.set_downlink_s(static_cast<float>(seconds_at(received_bytes_, rates.receive)));
  if (auto node = NodeId::from_bytes(asker)) {
    reply.set_pair_s(static_cast<float>(seconds_at(reply_bytes, rates.to(*node))));
    queue_s += waits_in_links_s(rates, *node, reply_bytes);
  }
  reply.set_queue_s(static_cast<float>(queue_s));
  reply.set_waited_s(static_cast<float>(queue_s + downstream_waited_s_));
}

double waits_in_links_s(const LinkRates& rates, const NodeId& to, uint64_t own_bytes) {
  return std::max(0.0, rates.wait_s(to) - seconds_at(own_bytes, rates.rate(to)));
}

uint64_t bytes_of(const Mail& mail) {
  return (mail.head ? mail.head->ByteSizeLong() : 0) + mail.body.size();
}

routing::Occupancy occupancy_of(const proto::ForwardReply& reply, uint64_t request_bytes,
                                double pair_bytes_per_s) {
  auto told =
      routing::checked({reply.compute_s(), reply.uplink_s(), reply.downlink_s(), reply.pair_s()});
  told.pair_s = std::max(told.pair_s, seconds_at(request_bytes, pair_bytes_per_s));
  return told;
}

double told_waited_s(const proto::ForwardReply& reply, double took_s) {
  const auto told = routing::checked({reply.waited_s(), reply.queue_s(), 0, 0});
  return std::min(std::max(told.compute_s, told.uplink_s), took_s);
}

double told_inside_s(const proto::ForwardReply& reply, double took_s) {
  const auto told = routing::checked({reply.compute_s(), reply.queue_s(), reply.downstream_s(), 0});
  return std::min(told.compute_s + told.uplink_s + told.downlink_s, took_s);
}

std::optional<double> away_s(const proto::ForwardReply& reply, const routing::Occupancy& took,
                             double waited_s) {
  const auto waits = routing::checked({reply.queue_s(), reply.downstream_s(), 0, 0});
  const double at_peer_s = waits.compute_s + waits.uplink_s + took.compute_s;
  if (waited_s < kAsTold * at_peer_s) return std::nullopt;
  return std::max(0.0, waited_s - at_peer_s - took.uplink_s - took.downlink_s - took.pair_s);
}

}  // namespace swarm::actors
