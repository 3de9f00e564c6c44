#include "actors/net/links/send_queue.h"

#include <algorithm>

namespace swarm::actors::links {

void SendQueue::push(OutFrame frame) {
  bytes_ += frame.size();
  ++frames_;
  ++pushed_;
  queues_[static_cast<size_t>(frame.header.traffic)].push_back(std::move(frame));
}

uint64_t SendQueue::bytes(proto::MessageKind kind) const {
  uint64_t sum = 0;
  for (const auto& queue : queues_)
    for (const OutFrame& frame : queue)
      if (frame.header.kind == kind) sum += frame.left();
  return sum;
}

uint64_t SendQueue::reply_bytes() const {
  uint64_t sum = 0;
  for (const auto& queue : queues_)
    for (const OutFrame& frame : queue)
      if (frame.header.flags == kReply && frame.header.body_bytes > 0) sum += frame.left();
  return sum;
}

TrafficClass SendQueue::next_traffic() const {
  auto next = TrafficClass::kState;
  for (size_t i = kTrafficClasses; i-- > 0;) {
    const auto traffic = static_cast<TrafficClass>(i);
    const bool first = !waits(next) || share_.rank(traffic) < share_.rank(next);
    if (waits(traffic) && first) next = traffic;
  }
  return next;
}

bool SendQueue::both_wait() const {
  return waits(TrafficClass::kState) &&
         (waits(TrafficClass::kGradients) || waits(TrafficClass::kActivations));
}

bool SendQueue::holds(proto::MessageKind kind) const {
  return std::any_of(queues_.begin(), queues_.end(), [kind](const auto& queue) {
    return !queue.empty() && queue.front().header.kind == kind;
  });
}

bool SendQueue::next_chunk(std::vector<char>& out, uint32_t max_bytes) {
  if (empty()) return false;
  const auto traffic = static_cast<size_t>(next_traffic());
  auto& queue = queues_[traffic];
  const uint64_t before = queue.front().sent;
  const size_t size = out.size();
  const bool both = both_wait();
  const bool last = append_chunk(queue.front(), max_bytes, out);
  sent_[traffic] += out.size() - size;
  share_.sent(static_cast<TrafficClass>(traffic), out.size() - size, both);
  bytes_ -= queue.front().sent - before;
  if (last) {
    queue.pop_front();
    --frames_;
    ++frames_sent_;
  }
  return true;
}

bool SendQueue::forget_request(TrafficClass traffic, uint64_t id) {
  auto& queue = queues_[static_cast<size_t>(traffic)];
  auto it = std::find_if(queue.begin(), queue.end(), [&](const OutFrame& frame) {
    return frame.header.request_id == id && frame.header.flags == kRequest;
  });
  if (it == queue.end() || it->broken) return it != queue.end();
  bytes_ -= it->left();
  if (it->started()) {
    it->broken = true;
    it->body = {};
    return true;
  }
  --frames_;
  queue.erase(it);
  return true;
}

bool SendQueue::clear() {
  const auto& control = queues_[static_cast<size_t>(TrafficClass::kControl)];
  const bool half = !control.empty() && control.front().started();
  for (auto& queue : queues_) queue.clear();
  bytes_ = 0;
  frames_ = 0;
  return half;
}

}  // namespace swarm::actors::links
