/// The part of the fake network in which bytes take time: what mail weighs, and its way over the
/// serial links before the model's delays.
#include <algorithm>

#include "actors/net/errors.h"
#include "actors/net/links/frame.h"
#include "apps/sim/network_world.h"

namespace swarm::sim::network_detail {
namespace {

uint64_t with_chunk_headers(uint64_t frame_bytes) {
  const uint64_t chunks =
      (frame_bytes + SerialLink::kMaxChunkBytes - 1) / SerialLink::kMaxChunkBytes;
  return frame_bytes + chunks * actors::links::kChunkHeaderBytes;
}

bool microbatch(const Weight& weight) {
  return weight.kind == proto::KIND_FORWARD || weight.kind == proto::KIND_FORWARD_REPLY;
}

bool part_of_average(const Weight& weight) {
  return weight.kind == proto::KIND_AVERAGE_PART || weight.kind == proto::KIND_AVERAGE_PART_REPLY;
}

}  // namespace

Weight weigh(const actors::Mail& mail, const std::string& to_actor) {
  const uint64_t body_bytes = mail.body.size();
  const uint64_t head_bytes = mail.head ? mail.head->ByteSizeLong() : 0;
  return {mail.kind, actors::links::frame_traffic(mail.kind, body_bytes),
          with_chunk_headers(actors::links::frame_bytes(to_actor.size(), head_bytes, body_bytes))};
}

Weight weigh(const Error& error) {
  return {
      proto::KIND_ERROR, actors::TrafficClass::kControl,
      with_chunk_headers(actors::links::frame_bytes(0, actors::to_proto(error).ByteSizeLong(), 0))};
}

/// What measures mail of this kind; null: nothing does.
WireMeters* Transports::meters_of(const Weight& weight) {
  if (microbatch(weight)) return &meters;
  return part_of_average(weight) ? &average_meters : nullptr;
}

bool World::queue_is_full(const NodeId& from, const NodeId& to, uint64_t body_bytes) const {
  if (!model || body_bytes == 0) return false;
  const uint64_t queued = transports.wires.bytes(from, to), budget = model->send_budget_bytes;
  return queued > 0 && (queued > budget || body_bytes > budget - queued);
}

uint64_t Transports::work_bytes(const NodeId& from, const NodeId& to) const {
  uint64_t bytes = 0;
  for (const auto& [number, transport] : under_way)
    if (microbatch(transport.weight) && transport.from == from && transport.to == to)
      bytes += transport.weight.bytes;
  return bytes;
}

void World::count(const NodeId& from, const Weight& weight) {
  TrafficCount& count = (*traffic)[from][weight.kind];
  ++count.sent;
  count.sent_bytes += weight.bytes;
}

uint64_t World::transmit(const NodeId& from, const NodeId& to, const Weighing& weighing,
                         std::function<void()> arrive) {
  if (!model || from == to) {
    arrive();
    return 0;
  }
  const uint64_t which = session(from, to);
  if (which == 0) return 0;
  sides[{from, to}].used = now();
  auto& wires = transports.wires;
  if (traffic || wires.limited()) {
    const Weight weight = weighing();
    if (traffic) {
      count(from, weight);
      arrive = [this, to, weight, arrive = std::move(arrive)] {
        TrafficCount& count = (*traffic)[to][weight.kind];
        ++count.received;
        count.received_bytes += weight.bytes;
        arrive();
      };
    }
    if (wires.send(now(), {from, to, weight.traffic, weight.bytes}, transports.next + 1)) {
      transports.under_way[++transports.next] = {from, to, which, weight, std::move(arrive)};
      if (auto* meters = transports.meters_of(weight)) meters->sent(now(), from, to);
      carry();
      return transports.next;
    }
    if (auto* meters = transports.meters_of(weight); meters != nullptr && wires.limited()) {
      meters->sent(now(), from, to);
      meters->ended(now(), from, to, weight.bytes);
    }
  }
  travel(from, to, which, std::move(arrive));
  return 0;
}

void World::carry() {
  auto& wires = transports.wires;
  for (const uint64_t number : wires.arrived(now())) {
    const auto found = transports.under_way.extract(number);
    const Transport& transport = found.mapped();
    if (auto* meters = transports.meters_of(transport.weight))
      meters->ended(now(), transport.from, transport.to, transport.weight.bytes);
    travel(transport.from, transport.to, transport.session, transport.arrive);
  }
  auto& wake_at = transports.wake_at;
  if (wake_at && *wake_at <= now()) wake_at.reset();
  const auto next = wires.next();
  if (!next || (wake_at && *wake_at <= *next)) return;
  wake_at = next;
  after(*next - now(), [this] { carry(); });
}

void World::lose_transports(const NodeId& from, const NodeId& to) {
  for (const uint64_t number : transports.wires.lose(from, to)) transports.under_way.erase(number);
  transports.meters.lost(now(), from, to);
  transports.average_meters.lost(now(), from, to);
}

void World::give_up(uint64_t id) {
  auto request = requests.find(id);
  if (request == requests.end() || request->second.transport == 0) return;
  if (!transports.wires.take_back(request->second.transport)) return;
  const auto back = transports.under_way.extract(request->second.transport);
  if (auto* meters = transports.meters_of(back.mapped().weight))
    meters->ended(now(), back.mapped().from, back.mapped().to, 0);
}

}  // namespace swarm::sim::network_detail
