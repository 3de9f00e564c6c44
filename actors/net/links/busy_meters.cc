#include "actors/net/links/busy_meters.h"

#include <algorithm>
#include <iterator>

namespace swarm::actors::links {
namespace {

constexpr proto::MessageKind kMicrobatches[] = {proto::KIND_FORWARD, proto::KIND_FORWARD_REPLY};

/// One waits to be sent, or is in part.
bool sends_microbatch(const SendQueue& output) {
  return std::any_of(std::begin(kMicrobatches), std::end(kMicrobatches),
                     [&](auto kind) { return output.holds(kind); });
}

/// The body of one is on its way here.
bool receives_microbatch(const FrameDecoder& input) {
  return std::any_of(std::begin(kMicrobatches), std::end(kMicrobatches),
                     [&](auto kind) { return input.expects_body_of(kind); });
}

}  // namespace

void BusyMeters::sending(ConnId conn, const Session* session, uint64_t unsent, TimePoint now) {
  if (session == nullptr) return;
  nodes_[conn] = session->peer().id;
  const bool more = sends_microbatch(session->output());
  if (more || unsent == 0) sending_.set_busy(conn, more, now);
}

void BusyMeters::received(ConnId conn, const Session* session, uint64_t bytes, TimePoint now) {
  receiving_.moved(conn, bytes, now);
  if (session != nullptr)
    receiving_.set_busy(conn, receives_microbatch(session->input()) && !session->paused(), now);
}

void BusyMeters::forget(ConnId conn, TimePoint now) {
  sending_.forget(conn, now);
  receiving_.forget(conn, now);
  nodes_.erase(conn);
}

void BusyMeters::tell(LinksStats& stats) const {
  stats.send_bytes_per_s = sending_.rate();
  stats.receive_bytes_per_s = receiving_.rate();
  std::map<NodeId, double> slowest;  // two links may lead to one node for a while
  for (const auto& [conn, node] : nodes_) {
    const double rate = sending_.rate(conn);
    if (rate <= 0) continue;
    auto [known, first] = slowest.try_emplace(node, rate);
    if (!first) known->second = std::min(known->second, rate);
  }
  for (LinkStats& link : stats.links)
    if (auto rate = slowest.find(link.node.id); rate != slowest.end())
      link.busy_bytes_per_s = rate->second;
}

}  // namespace swarm::actors::links
