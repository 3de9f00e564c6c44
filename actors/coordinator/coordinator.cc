// Coordinator: its life, and what it is told by mail, by links and by the clock.
#include "actors/coordinator/coordinator.h"

#include <fmt/format.h>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/coordinator/coordinator_modes.h"
#include "actors/coordinator/coordinator_state.h"
#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "records/catalogue.h"
#include "routing/membership/term.h"

namespace swarm::actors {

using Phase = routing::Frame::Phase;

namespace {

/// `what`: Consent::waits_for(). While answers are awaited nobody is known to be missing.
std::string why_unforced(const std::string& what) {
  return what.empty() ? "nothing waits: more than half of the swarm is here"
                      : what + "; ask again once it is in phase minority";
}

}  // namespace

void CoordinatorState::init(Self* self, CoordinatorDeps deps) {
  self_ = self;
  deps_ = std::move(deps);
  install_default_handlers(self_);
  roster_.emplace(deps_.num_stages);
  auto parts = make_parts(deps_, *roster_, consent_);
  copies_.emplace(deps_.checkpoint.copies);
  schedule_ = std::move(parts.schedule);
  gathering_ = std::move(parts.gathering);
  const auto& training = deps_.training;
  records_ = std::make_unique<CoordinatorRecords>(
      CoordinatorRecordsOptions{deps_.num_stages, training.steps, training.batch,
                                training.microbatch, static_cast<uint64_t>(deps_.sequence),
                                parts.open_together},
      deps_.events, book_);
  const bool goes_on = training.partition == PartitionPolicy::kContinue;
  watch_ = std::make_unique<routing::ConsentWatch>(
      goes_on ? std::optional<routing::Time>(training.continue_after) : std::nullopt);
  quorum_ = std::make_unique<QuorumMail>(self_, deps_.id.node, deps_.links, consent_, [this] {
    if (!active()) return;
    const bool gathers = schedule_->frame().phase == Phase::kClosed;
    carry_out(gathers ? gathering_->next(now()) : schedule_->tick(now()));
  });
  moves_ = std::make_unique<RelocationMail>(
      self_, StageSearch(self_, deps_.dht, deps_.dht_options), std::move(parts.relocation),
      *roster_, *schedule_, *records_,
      RelocationMail::Hooks{
          [this](const PeerId& id, const std::string& reason) { peer_gone(id, reason); },
          [this](const PeerId& id, const std::string& reason) { peer_gone(id, reason, true); },
          [this] {
            const bool agreed =
                consent_.waits_for().empty() && !consent_.minority(now(), routing::Time());
            return routing::Levy{gathering_->possible_supplies(), consent_.attendance().barred(),
                                 agreed, office_->others_may_lead()};
          }});
  leases_ = std::make_unique<LeaseCounter>(self_);
  mail_ = std::make_unique<StepMail>(self_, book_, training.microbatch, mail_hooks());
  saves_ = std::make_unique<SaveOrders>(*mail_, *roster_, *schedule_);
  office_ = std::make_unique<OfficeMail>(
      self_, deps_,
      OfficeMail::Hooks{[this] { return schedule_->frame().over; }, [this] { take_over(); },
                        [this](const std::string& reason) { step_down(reason); },
                        [this] { return status(); }});
  caf::actor me = caf::actor_cast<caf::actor>(self_);
  self_->send(deps_.links, register_atom::value, deps_.id.actor, me);
  self_->send(deps_.links, subscribe_atom::value, me);
  self_->send(self_, tick_atom::value);
}

caf::behavior CoordinatorState::make_behavior() {
  return {
      [this](const Mail& mail) { return on_mail(mail); },
      [this](tick_atom) { on_tick(); },
      [](run_later_atom, const LocalTask& task) { task(); },
      [this](node_up_atom, const NodeInfo& info) { office_->office().link_up(info.id); },
      [this](node_down_atom, const NodeInfo& info, const std::string&) { on_node_down(info); },
      [this](describe_atom) { return describe(); },
  };
}

caf::result<Mail> CoordinatorState::on_mail(const Mail& mail) {
  if (!active())
    return to_caf(Error{ErrorCode::kNotReady, "this node's coordinator stands by", 100});
  switch (mail.kind) {
    case proto::KIND_REGISTER_PEER:
      return on_register(mail);
    case proto::KIND_LEASE:
      return on_lease(mail);
    case proto::KIND_SLOT_DONE:
      return on_slot_done(mail);
    case proto::KIND_MAY_LEAVE:
    case proto::KIND_MOVE_PEER:
    case proto::KIND_REBALANCE:
      return moves_->take(mail);
    case proto::KIND_VOTER_LEAVES:
      return quorum_->leaves(mail);
    case proto::KIND_SWARM_STATUS:
      return make_mail(status());
    case proto::KIND_SAVE_CHECKPOINT:
      return on_save();
    case proto::KIND_GO_ON:
      if (!consent_.force(now()))
        return to_caf(ErrorCode::kNotReady, why_unforced(consent_.waits_for()));
      raise_term(office_->office().term());
      return make_mail(proto::Ack());
    default:
      return to_caf(ErrorCode::kInvalidArgument,
                    std::string("a coordinator takes no ") + kind_name(mail.kind));
  }
}

void CoordinatorState::on_tick() {
  self_->delayed_send(self_, deps_.options.tick, tick_atom::value);
  office_->hold_election();
  if (!active()) return;
  leases_->expire(now(), stamp());
  if (!still_agreed()) return;
  const auto& ledger = schedule_->frame().open.ledger;
  records_->watch(step(), ledger ? ledger->slots_done() : 0, now());
  const bool gathers = schedule_->frame().phase == Phase::kClosed;
  if (gathers) moves_->levy();
  const auto missing =
      gathers && !moves_->conscription().acts() ? roster_->silent_stage() : std::nullopt;
  const bool finished = schedule_->frame().phase == Phase::kFinished;
  if (office_->hands_over(missing, !finished && consent_.minority(now()))) return;
  if (gathers)
    carry_out(gathering_->next(now()));
  else
    office_->office().opened();
  carry_out(schedule_->tick(now()));
  saves_->look(now());
  moves_->look();
}

void CoordinatorState::on_node_down(const NodeInfo& info) {
  office_->link_down(info.id);
  if (!active()) return;
  quorum_->gone(info.id);
  leases_->drop(info.id);
  records_->traffic().forget(info.id);
  for (const ActorId& trainer : roster_->trainers_of(info.id)) {
    records_->record(step(), records::TrainerLost{info.name, schedule_->trainer_lost(trainer)});
    roster_->remove_trainer(trainer);
  }
  for (const PeerId& id : roster_->peers_of(info.id))
    peer_gone(id, "the link to " + info.name + " is lost");
  moves_->lost(info.id);
  serve_leases();
}

// -- the office

void CoordinatorState::take_over() {
  const Term term = office_->office().term();
  records_->record(step(), records::CoordinatorActive{term.value()});
  log_info(fmt::format("event=takes_over term={}", term));
  text_.remember(deps_.text->get());
  office_->publish();
  gathering_->new_term();
  moves_->begin(term);
  consent_.begin({term, deps_.id.node});
  gather(fmt::format("a new coordinator, term {}", routing::term_number(term)), std::nullopt);
}

/// All who knew of earlier terms were gone when this one took over, or nothing more can be agreed on in
/// the present one.
void CoordinatorState::raise_term(Term seen) {
  office_->office().raise_term(seen);
  const Term term = office_->office().term();
  records_->record(step(), records::CoordinatorActive{term.value()});
  log_info(fmt::format("event=raises_term term={}", term));
  office_->publish();
  gathering_->new_term();
  moves_->begin(term);
  consent_.begin({term, deps_.id.node});
  gather(fmt::format("a peer has followed term {}", routing::term_number(seen)),
         schedule_->applied());
}

void CoordinatorState::step_down(const std::string& reason) {
  log_warn(fmt::format("event=steps_down term={} reason={}", office_->office().term(), reason));
  records_->record(step(), records::SteppedDown{reason});
  leases_->refuse_all({ErrorCode::kNotReady, reason});
  saves_->refuse_all({ErrorCode::kNotReady, reason});
  office_->office().step_down();
  schedule_->close();
  gathering_->stop();
  moves_->end();
  consent_.stop();
  watch_->stop();
  quorum_->clear();
  roster_->clear();
  text_.forget();
  book_.clear();
  records_->traffic().clear();
}

// -- trainers

caf::result<Mail> CoordinatorState::on_lease(const Mail& mail) {
  const auto& message = mail.as<proto::Lease>();
  auto trainer = sender_of(mail, message.trainer());
  if (!trainer) return to_caf(trainer.error());
  quorum_->came(*trainer);
  const RunText text = from_proto(message.text());
  const auto verdict = text_.judge(text, schedule_->frame().phase != Phase::kClosed);
  if (verdict == routing::TextCheck::Verdict::kWait)
    return to_caf(Error{ErrorCode::kNotReady, "the swarm gathers", 100});
  if (verdict == routing::TextCheck::Verdict::kOther) {
    if (text_.first_refusal(trainer->id))
      records_->record(step(),
                       records::OtherText{
                           trainer->node_name, {text.fingerprint}, other_text(text, text_.text())});
    return write_leases({}, office_->office().term(), step(), false, text_.text());
  }
  routing::takes_part(consent_.attendance(), *roster_, trainer->id.node, message.node_peers());
  if (roster_->add_trainer(trainer->id))
    records_->record(step(), records::TrainerJoined{trainer->node_name});
  records_->traffic().report(trainer->id.node,
                             {message.bytes_sent().begin(), message.bytes_sent().end()});
  // A node has one trainer, which waits for one lease. What was leased to the actor before it (it
  // failed and was started again, the link stayed up) is free; what it asked for before is void.
  for (const ActorId& before : roster_->trainers_of(trainer->id.node)) {
    if (before == trainer->id) continue;
    schedule_->trainer_lost(before);
    roster_->remove_trainer(before);
  }
  renew_leases(message, trainer->id, deps_.options.lease_limit, *schedule_, now());
  if (message.max_slots() == 0)
    return write_leases({}, office_->office().term(), step(), schedule_->frame().over,
                        text_.text());
  leases_->withdraw(trainer->id.node, stamp());
  auto promise = leases_->wait(trainer->id, message.max_slots(), now());
  if (!promise) return to_caf(promise.error());
  serve_leases();
  return *promise;
}

caf::result<Mail> CoordinatorState::on_slot_done(const Mail& mail) {
  const auto& message = mail.as<proto::SlotDone>();
  auto trainer = sender_of(mail, message.trainer());
  if (!trainer) return to_caf(trainer.error());
  auto report = read_slot_done(message);
  if (!report) return to_caf(report.error());
  auto orders = schedule_->slot_reported(*report, now());
  if (!orders) return to_caf(orders.error());
  carry_out(*orders);
  return make_mail(proto::Ack());
}

void CoordinatorState::serve_leases() {
  if (!schedule_->frame().is_open()) return;
  const double deadline_s = lease_end_s(deps_.options.lease_limit, now());
  leases_->serve(
      [this, deadline_s](const ActorId& trainer, uint32_t max_slots) {
        return schedule_->lease(trainer, max_slots, deadline_s);
      },
      stamp());
}

// -- snapshots

caf::result<Mail> CoordinatorState::on_save() {
  auto promise = self_->make_response_promise();
  saves_->ask(
      [promise](const Status& status) mutable {
        if (status.ok())
          promise.deliver(make_mail(proto::Ack()));
        else
          promise.deliver(to_caf(status.error()));
      },
      now());
  return promise;
}

caf::actor spawn_coordinator(caf::actor_system& system, CoordinatorDeps deps) {
  return system.spawn([deps = std::move(deps)](CoordinatorState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors
