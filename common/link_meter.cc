#include "common/link_meter.h"

#include <algorithm>

namespace swarm {
namespace {

constexpr double kSlowerCounts = 0.5;
/// What a link carried so long before another one says no more about the node.
constexpr double kRemember_s = 20;
/// And then nothing about anything. Longer than the pauses between trials of a slow link (routing/wiring).
constexpr double kForget_s = 600;
/// A link that is this fast in parts of its node is held up by the node; so is one beside which the node carried
/// that much.
constexpr double kAsTheNode = 0.7;

}  // namespace

void LinkMeter::advance(TimePoint now) {
  if (last_ == TimePoint{}) last_ = now;
  const double passed_s = std::max(0.0, std::chrono::duration<double>(now - last_).count());
  last_ = now;
  clock_s_ += passed_s;
  if (busy_ > 0) shared_s_ += passed_s / busy_;
  if (measured_ > 0) all_.busy_s += passed_s;
}

void LinkMeter::begin(Link& link) {
  ++measured_;
  link.alone_from_s = clock_s_;
  link.shared_from_s = shared_s_;
  link.beside_from = carried_;
}

void LinkMeter::add_time(Link& link) {
  link.beside.bytes += carried_ - link.beside_from;
  link.beside.busy_s += clock_s_ - link.alone_from_s;
  link.beside_from = carried_;
  link.alone.busy_s += clock_s_ - link.alone_from_s;
  link.shared.busy_s += shared_s_ - link.shared_from_s;
  link.alone_from_s = clock_s_;
  link.shared_from_s = shared_s_;
}

void LinkMeter::set_busy(LinkId id, bool busy, TimePoint now) {
  auto found = links_.find(id);
  if ((found != links_.end() && found->second.busy) == busy) return;
  advance(now);
  Link& link = links_[id];
  if (busy) {
    link.busy = true;
    link.hidden_left = options_.hidden_bytes;
    ++busy_;
    if (link.measured()) begin(link);
    return;
  }
  if (link.measured()) {
    add_time(link);
    --measured_;
  }
  link.busy = false;
  --busy_;
}

void LinkMeter::moved(LinkId id, uint64_t bytes, TimePoint now) {
  auto found = links_.find(id);
  if (found == links_.end() || !found->second.busy || bytes == 0) return;
  advance(now);
  carried_ += bytes;
  Link& link = found->second;
  if (!link.measured()) {
    link.hidden_left -= std::min(link.hidden_left, bytes);
    if (link.hidden_left == 0) begin(link);
    return;
  }
  add_time(link);
  for (Window* window : {&link.alone, &link.shared, &all_}) window->bytes += bytes;
  if (close(link.alone, link.alone_rate)) link.measured_at_s = clock_s_;
  const double before = link.shared_rate;
  if (close(link.shared, link.shared_rate)) {
    const bool slower = link.shared_rate < before || before == 0;
    const bool explained = link.beside.rate() >= kAsTheNode * rate();
    // Such a window says nothing: a pair that was seen to be slow, and when, stays so.
    if (explained && slower && link.shared_rate < kAsTheNode * rate()) link.shared_rate = before;
    link.beside = {};
    link.shared_at_s = clock_s_;
  }
  if (close(all_, all_rate_)) all_at_s_ = clock_s_;
}

void LinkMeter::look(TimePoint now) {
  advance(now);
  const auto forget = [this](double& rate, double at_s) {
    if (clock_s_ - at_s > kForget_s) rate = 0;
  };
  forget(all_rate_, all_at_s_);
  for (auto& [id, link] : links_) {
    forget(link.alone_rate, link.measured_at_s);
    forget(link.shared_rate, link.shared_at_s);
  }
}

bool LinkMeter::close(Window& window, double& rate) const {
  if (window.bytes < options_.min_bytes) return false;
  if (window.bytes < options_.full_bytes && window.busy_s < options_.full_s) return false;
  const double seen = window.rate();
  rate = seen >= rate ? seen : rate + kSlowerCounts * (seen - rate);
  window = {};
  return true;
}

void LinkMeter::forget(LinkId id, TimePoint now) {
  set_busy(id, false, now);
  links_.erase(id);
}

double LinkMeter::rate() const {
  double best = all_rate_, newest_s = 0;
  for (const auto& [id, link] : links_) newest_s = std::max(newest_s, link.measured_at_s);
  for (const auto& [id, link] : links_)
    if (newest_s - link.measured_at_s < kRemember_s) best = std::max(best, link.alone_rate);
  return best;
}

double LinkMeter::rate(LinkId id) const {
  auto found = links_.find(id);
  if (found == links_.end()) return 0;
  const double seen = found->second.shared_rate;
  return seen < kAsTheNode * rate() ? seen : 0;
}

}  // namespace swarm
