#include "actors/net/links/send_queue.h"

#include <algorithm>

namespace swarm::actors::links {

void SendQueue::push(OutFrame frame) {
  bytes_ += frame.size();
  ++frames_;
  ++pushed_;
  queues_[static_cast<size_t>(frame.header.traffic)].push_back(std::move(frame));
}

TrafficClass SendQueue::next_traffic() const {
  size_t traffic = 0;
  while (traffic + 1 < kTrafficClasses && queues_[traffic].empty()) ++traffic;
  return static_cast<TrafficClass>(traffic);
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
  const bool last = append_chunk(queue.front(), max_bytes, out);
  sent_[traffic] += out.size() - size;
  bytes_ -= queue.front().sent - before;
  if (last) {
    queue.pop_front();
    --frames_;
  }
  return true;
}

bool SendQueue::forget_request(TrafficClass traffic, uint64_t id) {
  auto& queue = queues_[static_cast<size_t>(traffic)];
  auto it = std::find_if(queue.begin(), queue.end(), [&](const OutFrame& frame) {
    return frame.header.request_id == id && frame.header.flags == kRequest;
  });
  if (it == queue.end() || it->broken) return it != queue.end();
  bytes_ -= it->size() - it->sent;
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
