#include "apps/sim/serial_link.h"

#include <algorithm>
#include <cmath>

#include "actors/net/links/send_limit.h"
#include "common/check.h"

namespace swarm::sim {
namespace {

/// Longer than any run: what a rate near 0 comes to.
constexpr double kForever_s = 1e8;

}  // namespace

uint64_t SerialLink::chunk_bytes() const {
  return actors::links::SendLimit(rate_).chunk_bytes(kMaxChunkBytes);
}

void SerialLink::set_rate(TimePoint now, double bytes_per_s) {
  SWARM_CHECK(bytes_per_s >= 0);
  if (under_way_) {
    const double passed_s = std::chrono::duration<double>(now - under_way_->since).count();
    under_way_->bytes_left =
        rate_ > 0 ? std::max(0.0, under_way_->bytes_left - passed_s * rate_) : 0;
    under_way_->since = now;
  }
  rate_ = bytes_per_s;
}

void SerialLink::enter(const Line& line, Waiting& waiting) {
  if (waiting.in_turn || waiting.held || waiting.pieces.empty()) return;
  waiting.in_turn = true;
  turns_[static_cast<size_t>(line.traffic)].push_back(line);
}

void SerialLink::push(const Piece& piece) {
  SWARM_CHECK(piece.bytes > 0);
  Waiting& waiting = lines_[piece.line];
  waiting.pieces.push_back(piece);
  enter(piece.line, waiting);
}

/// A line of this class may send; those that may not leave the front of their turns.
bool SerialLink::waits(actors::TrafficClass traffic) {
  auto& turns = turns_[static_cast<size_t>(traffic)];
  while (!turns.empty()) {
    const auto found = lines_.find(turns.front());
    if (found != lines_.end() && !found->second.held) return true;
    if (found != lines_.end()) found->second.in_turn = false;
    turns.pop_front();
  }
  return false;
}

std::optional<actors::TrafficClass> SerialLink::next_class() {
  std::optional<actors::TrafficClass> next;
  for (size_t i = 0; i < actors::kTrafficClasses; ++i) {
    const auto traffic = static_cast<actors::TrafficClass>(i);
    if (waits(traffic) && (!next || share_.rank(traffic) < share_.rank(*next))) next = traffic;
  }
  return next;
}

std::optional<SerialLink::Piece> SerialLink::begin(TimePoint now) {
  if (under_way_) return std::nullopt;
  const auto traffic = next_class();
  if (!traffic) return std::nullopt;
  using Class = actors::TrafficClass;
  const bool both =
      waits(Class::kState) && (waits(Class::kGradients) || waits(Class::kActivations));
  auto& turns = turns_[static_cast<size_t>(*traffic)];
  const Line line = turns.front();
  turns.pop_front();
  const auto found = lines_.find(line);
  Waiting& waiting = found->second;
  waiting.in_turn = false;
  Piece& front = waiting.pieces.front();
  Piece chunk = front;
  chunk.bytes = std::min(front.bytes, chunk_bytes());
  front.bytes -= chunk.bytes;
  if (front.bytes > 0)
    chunk.last = false;
  else
    waiting.pieces.pop_front();
  if (waiting.pieces.empty())
    lines_.erase(found);
  else
    enter(line, waiting);
  share_.sent(*traffic, chunk.bytes, both);
  under_way_ = UnderWay{chunk, static_cast<double>(chunk.bytes), now};
  return chunk;
}

std::optional<SerialLink::TimePoint> SerialLink::through_at() const {
  if (!under_way_) return std::nullopt;
  if (rate_ <= 0) return under_way_->since;
  const double left_s = std::min(kForever_s, under_way_->bytes_left / rate_);
  return under_way_->since + std::chrono::nanoseconds(std::llround(left_s * 1e9));
}

SerialLink::Piece SerialLink::finish() {
  SWARM_CHECK(under_way_.has_value());
  const Piece chunk = under_way_->chunk;
  under_way_.reset();
  return chunk;
}

void SerialLink::hold(const Line& line, bool on) {
  auto found = lines_.find(line);
  if (found == lines_.end()) {
    if (on) lines_[line].held = true;
    return;
  }
  found->second.held = on;
  if (!on && found->second.pieces.empty())
    lines_.erase(found);
  else
    enter(line, found->second);
}

void SerialLink::forget(const Line& line, uint64_t mail) {
  auto found = lines_.find(line);
  if (found == lines_.end()) return;
  auto& pieces = found->second.pieces;
  pieces.erase(std::remove_if(pieces.begin(), pieces.end(),
                              [&](const Piece& piece) { return piece.mail == mail; }),
               pieces.end());
  if (!pieces.empty()) return;
  const bool held = found->second.held;
  forget(line);
  if (held) hold(line, true);
}

void SerialLink::forget(const Line& line) {
  lines_.erase(line);
  auto& turns = turns_[static_cast<size_t>(line.traffic)];
  turns.erase(std::remove_if(turns.begin(), turns.end(),
                             [&](const Line& other) { return other.flow == line.flow; }),
              turns.end());
}

}  // namespace swarm::sim
