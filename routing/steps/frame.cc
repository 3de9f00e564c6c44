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
  open.full_at.reset();
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

std::vector<Reach::Member> Frame::members_of(Stage stage) const {
  std::vector<Reach::Member> members;
  auto counted =
      open.ledger ? open.ledger->counted(stage) : decltype(open.ledger->counted(stage)){};
  for (const PeerId& id : roster.serving(stage)) members.push_back({id, counted[id].size()});
  return members;
}

bool Frame::set_aside(Stage stage, std::vector<Relay>& relays, bool retry) {
  const auto members = members_of(stage);
  auto plan = reach.plan(members, now, retry);
  for (const Reach::Aside& one : plan.aside) {
    roster.peers().at(one.peer).set_aside = true;
    send_back(one.peer, "it cannot reach another peer of its stage");
    note(facts::SetAside{one.peer, one.from, one.retry_in}, stage);
    if (open.ledger) open.ledger->peer_lost(one.peer, /*may_return=*/false);
  }
  if (!plan.aside.empty()) {
    order(orders::ServeLeases{});
    order(orders::Later{});
    return true;
  }
  note_relays(stage, members, plan.relays);
  relays = std::move(plan.relays);
  return false;
}

/// Asynchronously everybody has numbers; in steps those with samples.
const std::vector<uint32_t>& Frame::part_weights(Stage stage, const std::vector<Share>& members) {
  const bool any = std::any_of(members.begin(), members.end(),
                               [](const Share& one) { return !one.slots.empty(); });
  std::vector<PeerId> ids;
  std::vector<MemberLink> links;
  for (const Share& one : members) {
    ids.push_back(one.peer);
    links.push_back(roster.peers().at(one.peer).link);
    links.back().contributes = !any || !one.slots.empty();
  }
  return part_weights_[stage].next(ids, links);
}

void Frame::averaged(Stage stage, const StageRound& round) {
  reach.reached(round.in_order(), round.relays);
  Readers::Done done;
  for (const Share& one : round.members) {
    const PeerFacts* peer = roster.find(one.peer);
    if (peer == nullptr) return;
    done.members.push_back({one.peer, peer->link, one.slots.size()});
    done.bytes = std::max(done.bytes, static_cast<double>(peer->average_bytes));
  }
  done.filling_s = std::chrono::duration<double>(round.filling).count();
  if (round.overlapped) done.hidden_s = done.filling_s;  // the next step takes about as long
  readers.done(stage, done);
}

/// There is always one left that contributes.
void Frame::retire_readers() {
  readers.keep([this](const PeerId& id) { return roster.find(id) != nullptr; });
  for (Stage stage; stage.value() < roster.num_stages(); ++stage) {
    const auto due = readers.due(stage);
    if (!due || !roster.peers().at(*due).serving) continue;
    const auto members = roster.serving(stage);
    const bool others = std::any_of(members.begin(), members.end(), [&](const PeerId& id) {
      return id != *due && roster.peers().at(id).reachable;
    });
    if (!others) continue;
    readers.begin(stage, *due);
    roster.peers().at(*due).set_aside = true;
    send_back(*due, "its links hold rounds up for longer than its work is worth");
    const auto worth = readers.worth(*due).value_or(Readers::Worth());
    note(facts::BecameReader{*due, worth.costs_s, worth.slots * options.microbatch}, stage);
  }
}

bool Frame::retry_due() const {
  for (Stage stage; stage.value() < roster.num_stages(); ++stage)
    if (reach.retry_due(roster.serving(stage), now)) return true;
  return false;
}

/// Once, not every round.
void Frame::note_relays(Stage stage, const std::vector<Reach::Member>& members,
                        const std::vector<Relay>& relays) {
  if (said_relays_[stage] != relays.size())
    for (const Relay& one : relays)
      note(facts::PartsRelayed{members[one.a].peer, members[one.b].peer, members[one.via].peer},
           stage);
  said_relays_[stage] = relays.size();
}

void Frame::unreached(const RoundMember& member, const std::vector<PeerId>& members,
                      const RoundFailure& failure) {
  if (!failure.link) return;  // whoever hangs is missed by all: the others are not to part for it
  auto is_here = [this](const PeerId& id) {
    const PeerFacts* peer = roster.find(id);
    return peer != nullptr && peer->reachable;
  };
  reach.keep([this](const PeerId& id) { return roster.find(id) != nullptr; });
  for (const uint32_t place : failure.unreached)
    if (place < members.size() && is_here(member.peer) && is_here(members[place]))
      reach.unreached(member.peer, members[place], now);
}

/// Only those who take part in rounds must reach one another.
std::optional<Reach::Aside> Frame::parted(const PeerId& id) {
  PeerFacts& peer = roster.peers().at(id);
  if (!is_open() || nothing_to_train() || peer.serving) return std::nullopt;
  auto members = members_of(peer.stage);
  members.push_back({id, 0});
  const auto plan = reach.plan(members, now);
  peer.set_aside = !plan.aside.empty();
  if (plan.aside.empty()) return std::nullopt;
  return plan.aside.front();
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
  finished_ = {options.steps, open.ledger->validation_loss(), {}};
  saves.begin_final();
  save_final();
}

Whereabouts Frame::whereabouts(Step applied) const {
  return {open.step,
          applied,
          phase == Phase::kFinished,
          options.ahead_patience,
          history,
          agreement.consent == nullptr};
}

void Frame::save_final() {
  using Later = orders::Later;
  if (phase != Phase::kFinished) return;
  if (auto stage = roster.unserved_stage())
    return gather(fmt::format("stage {} was lost before all last snapshots were durable", *stage));
  if (!saves.may_save(roster, now)) return order(Later{Later::What::kSaveFinal, milliseconds(100)});
  saves.asked(open.step, now);
  order(orders::SaveAll{});
}

void Frame::saved(const Status& status) {
  using Later = orders::Later;
  if (phase != Phase::kFinished) return;
  if (!status.ok()) note(facts::SaveFailed{status.error()});
  if (roster.unserved_stage()) return save_final();  // one has gone since
  if (status.ok()) return end();
  if (!saves.try_again()) {  // disks that fail for good; of a stage one may do
    if (!roster.everywhere(open.step)) finished_.not_durable = to_string(status.error());
    return end();
  }
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
