/// The other side's requests that wait for an answer here, and the memory of their heads: what an actor's
/// mailbox holds for one link is bounded by it. Bodies are in the receive budget. Pure; one owner.
#pragma once

#include <cstdint>
#include <map>

namespace swarm::actors::links {

class Serving {
 public:
  static constexpr size_t kMost = 100'000;
  static constexpr uint64_t kMostBytes = 64ull << 20;

  /// False: it is open already.
  bool add(uint64_t id, uint64_t head_bytes) {
    const bool fresh = open_.emplace(id, head_bytes).second;
    if (fresh) bytes_ += head_bytes;
    return fresh;
  }
  /// False: it is not open, or no more.
  bool take(uint64_t id) {
    const auto it = open_.find(id);
    if (it == open_.end()) return false;
    bytes_ -= it->second;
    open_.erase(it);
    return true;
  }
  bool has(uint64_t id) const { return open_.count(id) > 0; }
  bool too_many() const { return open_.size() > kMost || bytes_ > kMostBytes; }
  bool empty() const { return open_.empty(); }
  void clear() { *this = Serving(); }

 private:
  std::map<uint64_t, uint64_t> open_;  // bytes by id
  uint64_t bytes_ = 0;
};

}  // namespace swarm::actors::links
