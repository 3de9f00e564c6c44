#include "actors/net/links/busy_meters.h"

#include <algorithm>
#include <array>

namespace swarm::actors::links {
namespace {

using Kinds = std::array<proto::MessageKind, 2>;
constexpr Kinds kMicrobatches = {proto::KIND_FORWARD, proto::KIND_FORWARD_REPLY};
constexpr Kinds kAverages = {proto::KIND_AVERAGE_PART, proto::KIND_AVERAGE_PART_REPLY};

/// One waits to be sent, or is in part.
bool sends(const Kinds& kinds, const SendQueue& output) {
  return std::any_of(kinds.begin(), kinds.end(), [&](auto kind) { return output.holds(kind); });
}

/// The body of one is on its way here.
bool receives(const Kinds& kinds, const FrameDecoder& input) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](auto kind) { return input.expects_body_of(kind); });
}

}  // namespace

void BusyMeters::sending(ConnId conn, const Session* session, uint64_t unsent, TimePoint now) {
  if (session == nullptr) return;
  nodes_[conn] = session->peer().id;
  const auto look = [&](LinkMeter& meter, const Kinds& kinds) {
    const bool more = sends(kinds, session->output());
    if (more || unsent == 0) meter.set_busy(conn, more, now);
  };
  look(work_.sending, kMicrobatches);
  look(averages_.sending, kAverages);
}

void BusyMeters::left(ConnId conn, uint64_t bytes, TimePoint now) {
  work_.sending.moved(conn, bytes, now);
  averages_.sending.moved(conn, bytes, now);
}

void BusyMeters::received(ConnId conn, const Session* session, uint64_t bytes, TimePoint now) {
  const auto look = [&](LinkMeter& meter, const Kinds& kinds) {
    meter.moved(conn, bytes, now);
    if (session != nullptr)
      meter.set_busy(conn, receives(kinds, session->input()) && !session->paused(), now);
  };
  look(work_.receiving, kMicrobatches);
  look(averages_.receiving, kAverages);
}

void BusyMeters::forget(ConnId conn, TimePoint now) {
  for (Both* both : {&work_, &averages_}) {
    both->sending.forget(conn, now);
    both->receiving.forget(conn, now);
  }
  nodes_.erase(conn);
}

void BusyMeters::tell(LinksStats& stats, TimePoint now) {
  for (Both* both : {&work_, &averages_}) {
    both->sending.look(now);
    both->receiving.look(now);
  }
  stats.send_bytes_per_s = work_.sending.rate();
  stats.receive_bytes_per_s = work_.receiving.rate();
  stats.averages_send_bytes_per_s = averages_.sending.rate();
  stats.averages_receive_bytes_per_s = averages_.receiving.rate();
  std::map<NodeId, double> slowest;  // two links may lead to one node for a while
  for (const auto& [conn, node] : nodes_) {
    const double rate = work_.sending.rate(conn);
    if (rate <= 0) continue;
    auto [known, first] = slowest.try_emplace(node, rate);
    if (!first) known->second = std::min(known->second, rate);
  }
  for (LinkStats& link : stats.links)
    if (auto rate = slowest.find(link.node.id); rate != slowest.end())
      link.busy_bytes_per_s = rate->second;
}

}  // namespace swarm::actors::links
