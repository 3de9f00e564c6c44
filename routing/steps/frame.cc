#include "routing/steps/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "routing/steps/attempts.h"

namespace swarm::routing {

using std::chrono::milliseconds;

void Frame::note(Fact fact, std::optional<Stage> stage) {
  order(orders::Note{stage, open.step, std::move(fact)});
}

void Frame::gather(const std::string& reason) {
  order(orders::Gather{reason});
  close();
}

void Frame::close() {
  phase = Phase::kClosed;
  over = false;
  saves.forget();
  open.ledger.reset();
  open.stages.clear();
}

std::unique_ptr<StepLedger> Frame::make_ledger(Step step) const {
  // Nothing is left to train: the final validation.
  const bool last = step.value() >= options.steps;
  const bool regular =
      options.validate_every > 0 && step > Step(0) && step.value() % options.validate_every == 0;
  StepLedgerOptions of_ledger;
  of_ledger.step = step;
  of_ledger.num_stages = roster.num_stages();
  of_ledger.num_slots = last ? 0 : options.slots;
  of_ledger.attempt_base = attempt_base(reign.term, reign.gathering);
  of_ledger.num_validation = last || regular ? options.validation_slots : 0;
  return std::make_unique<StepLedger>(of_ledger);
}

void Frame::enter(Step step, Step computed_on) {
  open.step = step;
  open.computed_on = computed_on;
  open.stages.assign(roster.num_stages(), StageRound{});
  open.opened_at = now;
  said_diverged_ = false;
  phase = Phase::kOpen;
}

OpenStep Frame::take() {
  OpenStep closing = std::move(open);
  closing.closed_at = now;
  open = OpenStep{};
  open.step = closing.step;
  open.computed_on = closing.computed_on;
  open.opened_at = closing.opened_at;
  return closing;
}

bool Frame::diverged() {
  if (open.ledger->counted_slots() != 0) return false;
  if (!said_diverged_) note(facts::Diverged{});
  said_diverged_ = true;
  return true;
}

void Frame::send_back(const PeerId& id, const std::string& reason) {
  roster.peers().at(id).serving = false;
  order(orders::AskToRegister{id, reason});
}

void Frame::dropped(const PeerId& id) {
  open.ledger->peer_lost(id, /*may_return=*/true);
  order(orders::ServeLeases{});
}

void Frame::write_metrics(const OpenStep& closing, std::optional<double> gradient_norm) {
  const bool trained = closing.step.value() < options.steps;
  orders::WriteMetrics line;
  line.step = closing.step;
  line.took = closing.closed_at - closing.opened_at;
  if (trained) line.train_loss = closing.ledger->train_loss();
  line.validation_loss = closing.ledger->validation_loss();
  line.slots = trained ? options.slots : 0;
  line.attempts = closing.ledger->attempts();
  line.gradient_norm = gradient_norm;
  line.live_peers = roster.serving_by_stage();
  order(std::move(line));
}

void Frame::note_replicas(Stage stage, Step step, const ReplicaComparison& found) {
  if (found.replicas == 0) return;
  order(orders::Note{stage, step, facts::ReplicasCompared{found}});
}

// -- the end

void Frame::finish() {
  phase = Phase::kFinished;
  open.closed_at = now;
  write_metrics(open, std::nullopt);
  finished_ = {options.steps, open.ledger->validation_loss()};
  saves.begin_final();
  save_final();
}

void Frame::save_final() {
  using Later = orders::Later;
  if (phase != Phase::kFinished) return;
  if (auto stage = roster.unserved_stage())
    return gather(fmt::format("stage {} was lost before its last snapshot was durable", *stage));
  if (!saves.may_save(roster, now)) return order(Later{Later::What::kSaveFinal, milliseconds(100)});
  saves.asked(open.step, now);
  order(orders::SaveAll{});
}

void Frame::saved(const Status& status) {
  using Later = orders::Later;
  if (phase != Phase::kFinished) return;
  if (status.ok()) return end();
  note(facts::SaveFailed{status.error()});
  if (!saves.try_again()) return end();  // disks that fail for good
  order(Later{Later::What::kSaveFinal, saves.final_pause()});
}

void Frame::end() {
  over = true;
  order(orders::EndLeases{});
  note(finished_);
}

void Frame::save_late(const PeerId& id) {
  PeerFacts& peer = roster.peers().at(id);
  const bool stored = std::count(peer.snapshots.begin(), peer.snapshots.end(), open.step) != 0;
  if (!over || !peer.serving || !peer.reachable || stored || peer.late_save) return;
  peer.late_save = true;
  order(orders::SaveLate{id});
}

}  // namespace swarm::routing
