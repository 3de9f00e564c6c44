#include "actors/net/links/waiting_mail.h"

#include <iterator>

namespace swarm::actors::links {

bool WaitingMail::push(const NodeId& node, Item&& item) {
  Queue& queue = queues_[node];
  const uint64_t bytes = item.mail.body.size();
  if (queue.items.size() >= kMaxQueued || (queue.bytes > 0 && queue.bytes + bytes > max_bytes_))
    return false;
  queue.bytes += bytes;
  queue.items.push_back(std::move(item));
  return true;
}

std::deque<WaitingMail::Item> WaitingMail::take(const NodeId& node) {
  auto it = queues_.find(node);
  if (it == queues_.end()) return {};
  auto items = std::move(it->second.items);
  queues_.erase(it);
  return items;
}

std::deque<WaitingMail::Item> WaitingMail::take_expired(TimePoint now) {
  std::deque<Item> out;
  for (auto it = queues_.begin(); it != queues_.end();) {
    auto& [items, bytes] = it->second;
    while (!items.empty() && items.front().deadline <= now) {
      bytes -= items.front().mail.body.size();
      out.push_back(std::move(items.front()));
      items.pop_front();
    }
    it = items.empty() ? queues_.erase(it) : std::next(it);
  }
  return out;
}

std::deque<WaitingMail::Item> WaitingMail::take_all() {
  std::deque<Item> out;
  for (auto& entry : queues_)
    for (auto& item : entry.second.items) out.push_back(std::move(item));
  queues_.clear();
  return out;
}

}  // namespace swarm::actors::links
