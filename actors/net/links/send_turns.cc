#include "actors/net/links/send_turns.h"

namespace swarm::actors::links {

void SendTurns::set_rate(ConnId conn, double bytes_per_s, TimePoint now) {
  const auto own = own_.find(conn);
  if (own != own_.end() && bytes_per_s > 0) return own->second.set_rate(bytes_per_s, now);
  if (bytes_per_s > 0) {
    own_.emplace(conn, SendLimit(bytes_per_s));
    return;
  }
  if (own != own_.end()) own_.erase(own);
}

bool SendTurns::may_send(ConnId conn, TimePoint now) {
  const auto own = own_.find(conn);
  if (own != own_.end() && !own->second.may_send(now)) {
    held_.insert(conn);
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), conn), waiting_.end());
    return false;
  }
  const bool in_turn =
      turn_ == Turn::kNobody ? waiting_.empty() : turn_ == Turn::kOne && conn == whose_;
  if (in_turn && limit_.may_send(now)) {
    if (turn_ == Turn::kOne) turn_ = Turn::kTaken;
    return true;
  }
  if (std::find(waiting_.begin(), waiting_.end(), conn) == waiting_.end()) waiting_.push_back(conn);
  return false;
}

void SendTurns::sent(ConnId conn, size_t bytes) {
  limit_.sent(bytes);
  share_.sent(served_, bytes, both_wait_);
  const auto own = own_.find(conn);
  if (own != own_.end()) own->second.sent(bytes);
}

size_t SendTurns::chunk_bytes(ConnId conn, size_t at_most) const {
  const auto own = own_.find(conn);
  return limit_.chunk_bytes(own == own_.end() ? at_most : own->second.chunk_bytes(at_most));
}

void SendTurns::release(TimePoint now) {
  for (auto it = held_.begin(); it != held_.end();) {
    const auto own = own_.find(*it);
    if (own != own_.end() && !own->second.may_send(now)) {
      ++it;
      continue;
    }
    if (std::find(waiting_.begin(), waiting_.end(), *it) == waiting_.end()) waiting_.push_back(*it);
    it = held_.erase(it);
  }
}

void SendTurns::forget(ConnId conn) {
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), conn), waiting_.end());
  held_.erase(conn);
  own_.erase(conn);
}

}  // namespace swarm::actors::links
