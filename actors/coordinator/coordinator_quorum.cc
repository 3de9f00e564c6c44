// Coordinator: whether enough of the swarm agrees (docs/one_history.md).
#include <vector>

#include "actors/coordinator/coordinator_state.h"
#include "routing/membership/term.h"

namespace swarm::actors {

using Ruling = routing::ConsentWatch::Ruling;

/// False: this coordinator leads no more.
bool CoordinatorState::still_agreed() {
  quorum_->send();
  if (schedule_->frame().phase == routing::Frame::Phase::kFinished)
    return true;  // nothing is committed
  const Term ours = office_->office().term();
  std::vector<routing::Fact> notes;
  const Ruling ruling = watch_->rule(consent_, ours, now(), notes);
  for (routing::Fact& note : notes)
    records_->write(routing::orders::Note{std::nullopt, step(), std::move(note)});
  if (ruling.kind == Ruling::Kind::kStepDown) {
    step_down("a voter follows a newer term");
    return false;
  }
  if (ruling.kind == Ruling::Kind::kNewTerm) raise_term(routing::within_jump(ruling.above, ours));
  return true;
}

}  // namespace swarm::actors
