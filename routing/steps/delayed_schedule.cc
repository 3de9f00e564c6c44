#include "routing/steps/delayed_schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace swarm::routing {

using At = StageRound::At;

namespace {

/// Somebody waits to leave its stage, which takes a moment without an update under way.
bool anybody_departs(const Roster& roster) {
  return std::any_of(roster.peers().begin(), roster.peers().end(),
                     [](const auto& one) { return one.second.serving && one.second.departs; });
}

}  // namespace

void DelayedSchedule::close() {
  pending_.reset();
  SyncSchedule::close();
}

/// A member that holds more than counts fails an overlapped round, and the swarm goes back; done
/// again in the same way it may fail in the same way for ever. A round on its own can be repeated.
void DelayedSchedule::begin(Step step) {
  plain_until_ = std::min(plain_until_, step + 2 * kPlain);  // it may have gone far back
  if (collapses_) alone_ = step;
  collapses_ = false;
  SyncSchedule::begin(step);
}

void DelayedSchedule::collapse(const std::string& reason) {
  const Step at = frame_.open.step;
  if (collapsed_ && at.value() < collapsed_->value() + kPlain) {
    plain_until_ = at + kPlain;
    frame_.note(facts::RunsPlain{plain_until_});
  }
  collapsed_ = at;
  collapses_ = true;
  SyncSchedule::collapse(reason);
}

StageRound* DelayedSchedule::find(Stage stage, Round round) {
  if (StageRound* of_open = SyncSchedule::find(stage, round)) return of_open;
  const bool known = frame_.is_open() && pending_ && pending_->stages[stage.value()].round == round;
  return known ? &pending_->stages[stage.value()] : nullptr;
}

const StageRound* DelayedSchedule::round(Stage stage, Round round) const {
  if (const StageRound* of_open = Schedule::round(stage, round)) return of_open;
  const bool known = frame_.is_open() && pending_ && pending_->stages[stage.value()].round == round;
  return known ? &pending_->stages[stage.value()] : nullptr;
}

void DelayedSchedule::judge_rounds() {
  for (Stage stage; stage.value() < frame_.roster.num_stages(); ++stage) {
    if (frame_.is_open()) judge(stage, frame_.open.stages[stage.value()]);
    if (frame_.is_open() && pending_) judge(stage, pending_->stages[stage.value()]);
  }
}

bool DelayedSchedule::update_under_way(const PeerId& id, Stage stage) const {
  const bool of_pending = pending_ && pending_->stages[stage.value()].misses(id);
  return of_pending || SyncSchedule::update_under_way(id, stage);
}

/// The pipeline is to run dry: the last step, one after collapses, two that were parted are to be tried
/// again, or somebody needs a moment without an update under way to come in or to leave.
bool DelayedSchedule::is_dry_run() {
  const Step step = frame_.open.step;
  return newcomer_due() || step == alone_ || step < plain_until_ ||
         step + 1 == Step(frame_.options.steps) || frame_.retry_due() || frame_.readers.any_due() ||
         anybody_departs(frame_.roster);
}

/// Who does not come in though it has had its moment keeps nobody.
bool DelayedSchedule::newcomer_due() {
  const Step step = frame_.open.step;
  std::map<PeerId, Step> awaited;
  bool due = false;
  for (const PeerId& id : frame_.roster.newcomers(applied())) {
    const auto known = awaited_.find(id);
    const Step since = known == awaited_.end() ? step : std::min(known->second, step);
    awaited.emplace(id, since);
    due |= (step.value() - since.value()) % kAgain < kPatience;
  }
  awaited_ = std::move(awaited);
  return due;
}

bool DelayedSchedule::hold_back() {
  const OpenStep& open = frame_.open;
  const bool filling = std::all_of(open.stages.begin(), open.stages.end(),
                                   [](const auto& one) { return one.at == At::kFilling; });
  if (!filling || (is_dry_run() && !pending_)) return false;
  if (!open.ledger->full() || (pending_ && !pending_->all_averaged())) return true;
  if (pending_ && !frame_.agreement.reached(pending_->step)) return true;
  for (Stage stage; stage.value() < open.stages.size(); ++stage)
    if (still_commits(stage)) return true;
  for (Stage stage; stage.value() < open.stages.size(); ++stage)
    if (drop_unreachable_holder(stage)) return true;
  close_and_go_on();
  return true;
}

/// One message to every peer: apply the update that waits, average the open step, and, unless the
/// pipeline is to run dry, go on with the next one.
void DelayedSchedule::close_and_go_on() {
  const bool dry = is_dry_run();
  OpenStep& open = frame_.open;
  for (auto& [id, peer] : frame_.roster.peers()) {
    const bool late =
        peer.serving && pending_ && pending_->stages[peer.stage.value()].answers.count(id) == 0;
    if (!late) continue;
    open.ledger->peer_lost(id, /*may_return=*/true);
    frame_.send_back(id, fmt::format("it joined during the averaging of step {}", open.step));
  }
  if (!open.ledger->full()) return frame_.order(orders::ServeLeases{});
  // After that loop: relays name members by their places in the list that is sent. Nobody is tried
  // again: a round that fails here makes the swarm go back.
  std::vector<std::vector<Relay>> relays(open.stages.size());
  for (Stage stage; stage.value() < open.stages.size(); ++stage)
    if (frame_.set_aside(stage, relays[stage.value()], /*retry=*/false)) return;
  std::optional<orders::CommitStep> commit;
  if (pending_) commit = decide_commit(*pending_);
  for (Stage stage; stage.value() < open.stages.size(); ++stage) {
    if (commit) commit->round = pending_->stages[stage.value()].round;
    send_close(stage, !dry, commit ? &*commit : nullptr, relays[stage.value()]);
  }
  pending_.reset();
  if (dry) return;
  pending_ = frame_.take();
  open_step(pending_->step + 1, pending_->step);
}

}  // namespace swarm::routing
