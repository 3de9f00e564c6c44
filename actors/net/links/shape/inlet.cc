#include "actors/net/links/shape/inlet.h"

#include <algorithm>

namespace swarm::actors::links {

namespace {
Inlet::TimePoint::duration span(double seconds) {
  return std::chrono::duration_cast<Inlet::TimePoint::duration>(
      std::chrono::duration<double>(seconds));
}
}  // namespace

std::optional<Inlet::TimePoint> Inlet::Line::next_due() const {
  if (held || cut) return std::nullopt;
  if (const auto first = reads.next_due()) return first;
  return ended ? std::optional<TimePoint>(ends_at) : std::nullopt;
}

void Inlet::shape(ConnId conn, const LinkShape& link, bool stranger) {
  Line& line = lines_[conn];
  line.delay_s = link.delay_s;
  line.jitter_s = link.jitter_s;
  line.cut = link.cut;
  const double owed_s = limit_.limited() ? SendLimit::kBurst_s : 0;  // as a rule
  line.bound_bytes = stranger ? DelayLine::kStrangersBytes
                              : DelayLine::bound_bytes(link.known_receive_rate,
                                                       link.delay_s + link.jitter_s + owed_s);
}

void Inlet::forget(ConnId conn) {
  lines_.erase(conn);
  turns_.erase(std::remove(turns_.begin(), turns_.end(), conn), turns_.end());
}

Inlet::TimePoint Inlet::due(const Line& line, TimePoint now) {
  double wait_s = line.delay_s;
  if (line.jitter_s > 0)
    wait_s += line.jitter_s * std::uniform_real_distribution<double>(0, 1)(random_);
  return now + span(wait_s);
}

bool Inlet::push(ConnId conn, const void* data, size_t size, TimePoint now) {
  const auto found = lines_.find(conn);
  if (found == lines_.end()) return false;
  Line& line = found->second;
  if (line.ended) return true;  // nothing comes behind the end
  limit_.sent(size);
  const double owed_s = limit_.owed_s(now);
  if (owed_s > 0 && !line.waits) {
    line.waits = true;
    turns_.push_back(conn);
  }
  // One chunk may be owed: the rate is kept by pauses between chunks.
  const double too_early_s = owed_s > 0 ? std::max(0.0, owed_s - limit_.chunk_s()) : 0;
  if (too_early_s <= 0 && !line.delays()) return false;
  line.reads.push(data, size, due(line, now) + span(too_early_s));
  return true;
}

bool Inlet::end(ConnId conn, const Error& why, TimePoint now) {
  const auto found = lines_.find(conn);
  if (found == lines_.end() || !found->second.delays()) return false;
  Line& line = found->second;
  if (line.ended) return true;
  line.ends_at = std::max(due(line, now), line.reads.last_due());
  line.ended = why;
  return true;
}

void Inlet::hold(ConnId conn, bool on) {
  const auto found = lines_.find(conn);
  if (found != lines_.end()) found->second.held = on;
}

bool Inlet::may_read(ConnId conn) const {
  const auto found = lines_.find(conn);
  if (found == lines_.end()) return true;
  const Line& line = found->second;
  if (line.cut || line.waits || line.reads.bytes() > line.bound_bytes) return false;
  return !line.held || line.delays();
}

std::optional<Inlet::Due> Inlet::take(TimePoint now) {
  for (auto& [conn, line] : lines_) {
    const auto due_at = line.next_due();
    if (!due_at || *due_at > now) continue;
    if (auto bytes = line.reads.take(now)) return Due{conn, std::move(*bytes), std::nullopt};
    Due end{conn, {}, std::move(line.ended)};
    line.ended.reset();
    return end;
  }
  return std::nullopt;
}

std::optional<Inlet::TimePoint> Inlet::next_due() const {
  std::optional<TimePoint> first;
  for (const auto& entry : lines_) {
    const auto due_at = entry.second.next_due();
    if (due_at && (!first || *due_at < *first)) first = due_at;
  }
  return first;
}

std::vector<ConnId> Inlet::next_turns(TimePoint now) {
  std::vector<ConnId> next;
  if (turns_.empty()) return next;
  const bool limited = limit_.limited();
  const double read = limited ? static_cast<double>(read_bytes(SIZE_MAX)) : 0;
  for (double left = limited ? limit_.saved_bytes(now) : 1; left > 0; left -= read) {
    if (turns_.empty()) break;
    next.push_back(turns_.front());
    lines_.at(turns_.front()).waits = false;
    turns_.pop_front();
  }
  return next;
}

}  // namespace swarm::actors::links
