// Coordinator: whether enough of the swarm agrees (docs/one_history.md).
#include <vector>

#include "actors/coordinator/coordinator_state.h"
#include "routing/membership/term.h"

namespace swarm::actors {

using Ruling = routing::ConsentWatch::Ruling;

/// Something that was waited for has come.
void CoordinatorState::may_go_on() {
  if (!active()) return;
  if (schedule_->frame().phase == routing::Frame::Phase::kClosed)
    carry_out(gathering_->next(now()));
  else
    carry_out(schedule_->tick(now()));
}

/// False: this coordinator leads no more.
bool CoordinatorState::still_agreed() {
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
  quorum_->send();
  return true;
}

caf::result<Mail> CoordinatorState::on_go_on() {
  if (!consent_.force())
    return to_caf(ErrorCode::kNotReady, "nothing waits: more than half of the swarm is here");
  raise_term(office_->office().term());
  return make_mail(proto::Ack());
}

}  // namespace swarm::actors
