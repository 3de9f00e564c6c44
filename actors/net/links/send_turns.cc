#include "actors/net/links/send_turns.h"

namespace swarm::actors::links {

bool SendTurns::may_send(ConnId conn, TimePoint now) {
  const bool in_turn =
      turn_ == Turn::kNobody ? waiting_.empty() : turn_ == Turn::kOne && conn == whose_;
  if (in_turn && limit_.may_send(now)) {
    if (turn_ == Turn::kOne) turn_ = Turn::kTaken;
    return true;
  }
  if (std::find(waiting_.begin(), waiting_.end(), conn) == waiting_.end()) waiting_.push_back(conn);
  return false;
}

void SendTurns::forget(ConnId conn) {
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), conn), waiting_.end());
}

}  // namespace swarm::actors::links
