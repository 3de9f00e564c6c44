// Coordinator: whether enough of the swarm agrees (docs/one_history.md).
#include <fmt/format.h>

#include "actors/coordinator/coordinator_state.h"
#include "routing/membership/term.h"

namespace swarm::actors {
namespace {

/// Two coordinators that gather hear of each other meanwhile, and one steps down.
constexpr routing::Time kBeforeRaise = std::chrono::seconds(1);

}  // namespace

void CoordinatorState::may_go_on() {
  if (!active()) return;
  if (schedule_->frame().phase == routing::Frame::Phase::kClosed)
    carry_out(gathering_->next(now()));
  else
    carry_out(schedule_->tick(now()));
}

/// False: this coordinator leads no more.
bool CoordinatorState::still_agreed() {
  const auto seen = consent_.outranked();
  if (!seen) outranked_at_.reset();
  if (seen && consent_.reigns()) {
    step_down("a voter follows a newer term");
    return false;
  }
  if (seen && !outranked_at_) outranked_at_ = now();
  const Term ours = office_->office().term();
  if (seen && now() - *outranked_at_ >= kBeforeRaise) {
    outranked_at_.reset();
    raise_term(routing::within_jump(*seen, ours));
  } else if (!seen && consent_.stuck(now())) {
    raise_term(ours);
  }
  quorum_->send();
  return true;
}

}  // namespace swarm::actors
