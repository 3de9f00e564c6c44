/// Mail for nodes that are being dialled, in the order in which it came. One owner; as all
/// promises, those within are delivered, failed or given back.
#pragma once

#include <caf/response_promise.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "actors/net/errors.h"
#include "actors/net/mail.h"
#include "common/ids.h"

namespace swarm::actors::links {

/// Answers with `error`, where anybody waits for an answer.
inline void fail(caf::response_promise& promise, const Error& error) {
  if (promise.pending() && !promise.async()) promise.deliver(to_caf(error));
}

class WaitingMail {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr size_t kMaxQueued = 10'000;  ///< Per node.

  struct Item {
    std::string actor;
    Mail mail;
    caf::response_promise promise;
    TimePoint deadline;
  };

  /// `max_bytes`: of bodies, per node.
  explicit WaitingMail(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// False, and `item` is as it was, when too much waits for the node already.
  bool push(const NodeId& node, Item&& item);
  /// Takes out all of `node`, oldest first.
  std::deque<Item> take(const NodeId& node);
  /// Takes out whatever has waited until its deadline.
  std::deque<Item> take_expired(TimePoint now);
  std::deque<Item> take_all();
  bool empty(const NodeId& node) const { return queues_.count(node) == 0; }

 private:
  struct Queue {
    std::deque<Item> items;
    uint64_t bytes = 0;
  };
  const uint64_t max_bytes_;
  std::unordered_map<NodeId, Queue> queues_;  // none is empty
};

}  // namespace swarm::actors::links
