#include "apps/sim/wires.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace swarm::sim {

Wires::Place Wires::place(const Flow& flow, int hop) {
  if (hop == kUp) return {kUp, flow.from, NodeId{}};
  if (hop == kDown) return {kDown, flow.to, NodeId{}};
  return {kBetween, flow.from, flow.to};
}

Wires::Wire* Wires::wire(const Flow& flow, int hop) {
  auto found = wires_.find(place(flow, hop));
  return found == wires_.end() ? nullptr : &found->second;
}

/// The first link from `hop` on that takes time; null: none.
Wires::Wire* Wires::next_wire(const Flow& flow, int hop, int& found) {
  for (found = hop; found < kHops; ++found)
    if (Wire* next = wire(flow, found)) return next;
  return nullptr;
}

uint64_t Wires::window(const Flow& flow) {
  uint64_t chunk = SerialLink::kMaxChunkBytes;
  for (int hop = 0; hop < kHops; ++hop)
    if (const Wire* wire = this->wire(flow, hop)) chunk = std::min(chunk, wire->link.chunk_bytes());
  return kAhead * chunk;
}

void Wires::set_node(TimePoint now, const NodeId& node, const LinkRates& rates) {
  set_rate(now, {kUp, node, NodeId{}}, rates.up);
  set_rate(now, {kDown, node, NodeId{}}, rates.down);
}

void Wires::set_pair(TimePoint now, const NodeId& from, const NodeId& to, double bytes_per_s) {
  set_rate(now, {kBetween, from, to}, bytes_per_s);
}

void Wires::set_rate(TimePoint now, const Place& place, double bytes_per_s) {
  auto found = wires_.find(place);
  if (found == wires_.end()) {
    if (bytes_per_s > 0) wires_[place].link.set_rate(now, bytes_per_s);
    return;
  }
  Wire& wire = found->second;
  wire.link.set_rate(now, bytes_per_s);
  schedule(now, place, wire);
  if (bytes_per_s <= 0 && wire.link.empty()) wires_.erase(found);
}

/// When the chunk under way is through; sooner, if the next link could otherwise not have sent its
/// last byte when it has come.
void Wires::schedule(TimePoint now, const Place& place, Wire& wire) {
  if (wire.scheduled) due_.erase({wire.due, place});
  const auto through = wire.link.through_at();
  wire.scheduled = through.has_value();
  if (!through) return;
  wire.due = *through;
  const Piece& chunk = *wire.link.under_way();
  auto flow = flows_.find(chunk.line.flow);
  if (!wire.handed && flow != flows_.end()) {
    int hop = 0;
    const Wire* next = next_wire(flow->second, std::get<Hop>(place) + 1, hop);
    if (next != nullptr && next->link.rate() > 0) {
      const double takes_s = static_cast<double>(chunk.bytes) / next->link.rate();
      const double left_s = std::chrono::duration<double>(*through - now).count();
      wire.due = takes_s >= left_s
                     ? now
                     : *through - std::chrono::nanoseconds(std::llround(takes_s * 1e9));
    }
  }
  due_.emplace(wire.due, place);
}

bool Wires::send(TimePoint now, const Load& load, uint64_t mail) {
  if (!limited()) return false;
  auto [number, fresh] = flow_numbers_.try_emplace({load.from, load.to}, next_flow_ + 1);
  if (fresh) flows_[++next_flow_] = Flow{load.from, load.to, 0, {}, {}};
  Flow& flow = flows_.at(number->second);
  const Line line{number->second, load.traffic};
  SWARM_CHECK(mails_.try_emplace(mail, Mail{line, load.bytes, false}).second);
  flow.mails.insert(mail);
  flow.bytes += load.bytes;
  if (take(now, Piece{line, mail, load.bytes, true, -1}, kUp)) return true;
  forget_mail(mail);
  return false;
}

/// The next link from `hop` on takes the piece; false: there is none, it has arrived.
bool Wires::take(TimePoint now, const Piece& piece, int hop) {
  const Flow& flow = flows_.at(piece.line.flow);
  int found = 0;
  Wire* next = next_wire(flow, hop, found);
  if (next == nullptr) return false;
  next->link.push(piece);
  begin(now, place(flow, found), *next);
  return true;
}

void Wires::begin(TimePoint now, const Place& place, Wire& wire) {
  const auto chunk = wire.link.begin(now);
  if (!chunk) return;
  wire.handed = false;
  schedule(now, place, wire);
  mails_.at(chunk->mail).left = true;
  if (chunk->counted >= 0) return;  // by the first link of its way
  Flow& flow = flows_.at(chunk->line.flow);
  uint64_t& ahead = flow.ahead[static_cast<size_t>(chunk->line.traffic)];
  ahead += chunk->bytes;
  if (ahead >= window(flow)) wire.link.hold(chunk->line, true);
}

void Wires::look(TimePoint now, const Place& place, std::vector<uint64_t>& there) {
  Wire& wire = wires_.at(place);
  wire.scheduled = false;
  Piece chunk = *wire.link.under_way();
  const int hop = std::get<Hop>(place);
  const bool lost = mails_.count(chunk.mail) == 0;
  const bool hand = !wire.handed && !lost;
  if (chunk.counted < 0) chunk.counted = hop;
  if (*wire.link.through_at() > now) {
    wire.handed = true;
    schedule(now, place, wire);
    if (hand) hand_over(now, hop, chunk, there);
    return;
  }
  wire.link.finish();
  if (hand) hand_over(now, hop, chunk, there);
  begin(now, place, wire);
  if (wire.link.rate() <= 0 && wire.link.empty()) wires_.erase(place);
}

void Wires::hand_over(TimePoint now, int hop, Piece chunk, std::vector<uint64_t>& there) {
  if (take(now, chunk, hop + 1)) return;
  release(now, chunk);
  if (!chunk.last) return;
  there.push_back(chunk.mail);
  forget_mail(chunk.mail);
}

/// The chunk has arrived: its flow may send more.
void Wires::release(TimePoint now, const Piece& piece) {
  Flow& flow = flows_.at(piece.line.flow);
  uint64_t& ahead = flow.ahead[static_cast<size_t>(piece.line.traffic)];
  ahead -= piece.bytes;
  if (ahead >= window(flow)) return;
  for (int hop = 0; hop <= piece.counted; ++hop) {
    Wire* held = wire(flow, hop);
    if (held == nullptr) continue;
    held->link.hold(piece.line, false);
    begin(now, place(flow, hop), *held);
  }
}

std::optional<Wires::TimePoint> Wires::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

std::vector<uint64_t> Wires::arrived(TimePoint now) {
  std::vector<uint64_t> there;
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto [when, place] = *due_.begin();
    due_.erase(due_.begin());
    look(when, place, there);
  }
  return there;
}

void Wires::forget_mail(uint64_t mail) {
  auto found = mails_.extract(mail);
  Flow& flow = flows_.at(found.mapped().line.flow);
  flow.bytes -= found.mapped().bytes;
  flow.mails.erase(mail);
}

bool Wires::take_back(uint64_t mail) {
  auto found = mails_.find(mail);
  if (found == mails_.end() || found->second.left) return false;
  const Line line = found->second.line;
  for (int hop = 0; hop < kHops; ++hop)
    if (Wire* wire = this->wire(flows_.at(line.flow), hop)) wire->link.forget(line, mail);
  forget_mail(mail);
  return true;
}

std::vector<uint64_t> Wires::lose(const NodeId& from, const NodeId& to) {
  auto number = flow_numbers_.find({from, to});
  if (number == flow_numbers_.end()) return {};
  Flow& flow = flows_.at(number->second);
  const std::vector<uint64_t> lost(flow.mails.begin(), flow.mails.end());
  for (int hop = 0; hop < kHops; ++hop) {
    Wire* wire = this->wire(flow, hop);
    if (wire == nullptr) continue;
    for (size_t traffic = 0; traffic < actors::kTrafficClasses; ++traffic)
      wire->link.forget({number->second, static_cast<actors::TrafficClass>(traffic)});
  }
  for (const uint64_t mail : lost) mails_.erase(mail);
  flows_.erase(number->second);
  flow_numbers_.erase(number);
  return lost;
}

void Wires::forget(const NodeId& node) {
  for (auto it = wires_.begin(); it != wires_.end();) {
    const auto& [hop, first, second] = it->first;
    const bool gone = first == node || second == node;
    if (gone && it->second.scheduled) due_.erase({it->second.due, it->first});
    it = gone ? wires_.erase(it) : std::next(it);
  }
}

uint64_t Wires::bytes(const NodeId& from, const NodeId& to) const {
  auto number = flow_numbers_.find({from, to});
  return number == flow_numbers_.end() ? 0 : flows_.at(number->second).bytes;
}

}  // namespace swarm::sim
