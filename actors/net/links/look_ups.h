/// Names on their way to be looked up: each takes a thread for as long as a name server lets it wait, so
/// few are at once. Pure; one owner.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "actors/net/links/node_table.h"

namespace swarm::actors::links {

class LookUps {
 public:
  static constexpr size_t kAtOnce = 4;
  using Wish = std::pair<ConnId, Endpoint>;

  void add(ConnId conn, const Endpoint& endpoint) { waiting_.emplace_back(conn, endpoint); }
  /// One to begin now, if there is one and not too many are under way.
  std::optional<Wish> next() {
    if (waiting_.empty() || under_way_ >= kAtOnce) return std::nullopt;
    ++under_way_;
    Wish wish = std::move(waiting_.front());
    waiting_.pop_front();
    return wish;
  }
  /// One that was begun is over, or nobody waits for it any more.
  void ended() { --under_way_; }

 private:
  std::deque<Wish> waiting_;
  size_t under_way_ = 0;
};

}  // namespace swarm::actors::links
