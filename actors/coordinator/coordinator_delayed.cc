// Coordinator, delayed updates (paper, Sec. 3; docs/training_protocol.md): a step is averaged while
// the next one is computed.
#include "actors/coordinator/coordinator_state.h"

namespace swarm::actors {

/// Somebody needs a moment without an update under way to come in.
bool CoordinatorState::newcomers_wait() const {
  for (const auto& [id, peer] : peers_)
    if (!peer.serving) return true;
  return false;
}

/// True if the open step is, for now, a matter of delayed updates: the synchronous way of closing
/// it must not be taken.
bool CoordinatorState::advance_delayed() {
  if (!deps_.training.delayed_updates) return false;
  bool drain = step_ + 1 == deps_.training.steps || newcomers_wait();
  for (const auto& stage : stages_)
    if (stage.at != StageProgress::At::kFilling) return false;
  if (drain && !pending_) return false;
  if (!ledger_->full() || (pending_ && !all_averaged(pending_->stages))) return true;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    if (still_commits(serving_peers(stage))) return true;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    if (drop_unreachable_holders(stage)) return true;
  close_delayed();
  return true;
}

/// One message to every peer: apply the update that waits, average the open step, and, unless the
/// pipeline is to run dry, go on with the next one.
void CoordinatorState::close_delayed() {
  proto::CloseStep close;
  bool drain = step_ + 1 == deps_.training.steps || newcomers_wait();
  close.set_go_on(!drain);
  for (auto& [id, peer] : peers_) {
    if (!peer.serving || !pending_) continue;
    if (pending_->stages[peer.stage].answers.count(id) != 0) continue;
    peer.serving = false;
    ledger_->peer_lost(id, /*may_return=*/true);
    ask_to_register(peer, "it joined during the averaging of step " + std::to_string(step_));
  }
  if (!ledger_->full()) return serve_waiting_leases();
  if (pending_) *close.mutable_commit() = decide_commit(*pending_);
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage) {
    if (pending_) close.mutable_commit()->set_round(pending_->stages[stage].round);
    send_close(stage, stages_[stage], close);
  }
  pending_.reset();
  if (drain) return;
  uint64_t next = step_ + 1;
  pending_ = take_open_step();
  open_step(next);
}

}  // namespace swarm::actors
