// Coordinator: whether enough of the swarm agrees (docs/one_history.md).
#include <algorithm>
#include <optional>
#include <vector>

#include "actors/coordinator/coordinator_state.h"

namespace swarm::actors {

using Ruling = routing::ConsentWatch::Ruling;
using Snag = routing::Consent::Snag;

namespace {

/// What more than half say is so; fewer voters lead no further than anybody. None: not now.
std::optional<Term> leads_to(routing::Office& office, Term above, Term most, routing::Time now) {
  if (above <= std::max(office.term(), most)) return above;
  const auto led = office.led_to(above, now);
  if (!led && most <= office.term()) return std::nullopt;
  return std::max(led.value_or(Term()), most);
}

}  // namespace

/// False: this coordinator leads no more.
bool CoordinatorState::still_agreed() {
  quorum_->send();
  const bool finished = schedule_->frame().phase == routing::Frame::Phase::kFinished;
  // Nothing is committed; but of two ends one is to stay.
  if (finished && consent_.snag(now()) != Snag::kMeeting) return true;
  const Term ours = office_->office().term();
  std::vector<routing::Fact> notes;
  const Ruling ruling = watch_->rule(consent_, ours, now(), notes);
  records_->write(std::move(notes), step());
  if (ruling.kind == Ruling::Kind::kStepDown) {
    step_down("a voter follows a newer term");
    return false;
  }
  if (ruling.kind != Ruling::Kind::kNewTerm) return true;
  const Term most = consent_.attendance().followed_by_most();
  if (const auto above = leads_to(office_->office(), ruling.above, most, now())) raise_term(*above);
  return true;
}

}  // namespace swarm::actors
