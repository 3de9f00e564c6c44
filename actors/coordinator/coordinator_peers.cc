// Coordinator: peers that register, and those that are gone.
#include <fmt/format.h>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/coordinator/coordinator_state.h"
#include "actors/net/local.h"
#include "records/catalogue.h"
#include "routing/steps/attempts.h"

namespace swarm::actors {

using std::chrono::milliseconds;
using Phase = routing::Frame::Phase;

caf::result<Mail> CoordinatorState::on_register(const Mail& mail) {
  const auto& message = mail.as<proto::RegisterPeer>();
  auto registration = read_registration(message, {deps_.num_stages, deps_.training.steps});
  if (!registration) return to_caf(registration.error());
  if (auto own = speaks_for(mail, registration->address); !own) return to_caf(own.error());
  const auto answer = [this, &registration](const routing::Verdict& verdict) {
    const Term term = office_->office().term();
    const PeerId& id = registration->address.id;
    const auto& attendance = consent_.attendance();
    const bool barred = attendance.silent(id.node) || attendance.barred().count(id.node) != 0;
    const auto forked_in =
        routing::told_fork(id, consent_.bounds().forked_in, verdict, attendance, *roster_);
    return write_verdict(verdict, book_,
                         {term, routing::attempt_base(term, gathering_->count()),
                          roster_->reported(), forked_in, barred},
                         text_.text());
  };
  if (const auto seen = office_->office().led_to(registration->foreign_term, now()))
    raise_term(*seen);  // the next ones lead further
  if (message.leaves()) {
    if (auto* leaver = roster_->find(registration->address.id)) leaver->leaves = true;
    moves_->leaves(registration->address.id);
    return make_mail(proto::RegisterPeerReply());
  }
  if (message.busy()) {
    expect(registration->address, registration->stage);
    return make_mail(proto::RegisterPeerReply());
  }
  text_.remember(from_proto(message.text()));
  if (const auto verdict = moves_->aside(*registration)) return answer(*verdict);
  const PeerAddress& address = registration->address;
  records_->traffic().report(address.id.node,
                             {message.bytes_sent().begin(), message.bytes_sent().end()});
  expect(address, registration->stage);
  roster_->report(address.id, registration->stage, address.node_name, registration->report);
  if (roster_->begins_to_fail(address.id))
    records_->snapshots_fail(*roster_->find(address.id), step());
  auto verdict = admit(address.id);
  const bool serves = verdict.kind == routing::Verdict::Kind::kServe;
  const auto& frame = schedule_->frame();
  if (serves || frame.readers.reads(address.id) || frame.repairs.resting(address.node_name, now()))
    routing::takes_part(consent_.attendance(), *roster_, address.id.node);
  verdict.keep = schedule_->frame().saves.known();
  if (serves && frame.is_open() && verdict.keep)
    verdict.copies = copies_->orders(address.id, verdict.keep->step, *roster_, now());
  moves_->registered(*registration, verdict);
  return answer(verdict);
}

void CoordinatorState::expect(const PeerAddress& address, Stage stage) {
  if (moves_->has_left(address.id)) return;
  for (const PeerId& before : roster_->predecessors(address.id))
    peer_gone(before, "its role was started again");
  book_.add(address);
  quorum_->came(address);
  if (!roster_->expect(address.id, stage, address.node_name)) return;
  gathering_->newcomer(now());
  self_
      ->request(deps_.links, milliseconds(5'000), resolve_atom::value, address.id, address.endpoint)
      .then(
          [this, id = address.id](const caf::actor& proxy) {
            auto* peer = roster_->find(id);
            if (peer != nullptr) peer->reachable = book_.set_proxy(id, proxy);
          },
          [this, id = address.id](const caf::error& error) {  // it registers again as a new one
            if (active()) peer_gone(id, "it cannot be reached: " + from_caf(error).detail);
          });
}

routing::Verdict CoordinatorState::admit(const PeerId& id) {
  const bool agreed = schedule_->frame().phase != Phase::kClosed ||
                      gathering_->planned_step().has_value() || gathering_->lacks_states();
  if (auto held = routing::held_back(id, consent_.attendance(), *roster_, agreed)) return *held;
  if (auto held = routing::held_before_fork(id, consent_.bounds().forked_in, *roster_))
    return *held;
  if (schedule_->frame().phase != Phase::kClosed) {
    routing::Orders orders;
    auto verdict = schedule_->admit(id, orders, now());
    carry_out(orders);
    if (schedule_->frame().phase != Phase::kClosed) return verdict;
  }
  auto verdict = gathering_->admit(id);
  if (verdict.kind != routing::Verdict::Kind::kServe) return verdict;
  carry_out(gathering_->next(now()));
  const auto* peer = roster_->find(id);
  if (schedule_->frame().is_open()) verdict.keep_held = peer != nullptr && peer->serving;
  return verdict;
}

void CoordinatorState::peer_gone(const PeerId& id, const std::string& reason, bool in_order) {
  const auto* peer = roster_->find(id);
  if (peer == nullptr) return;
  const Stage stage = peer->stage;
  const bool was_serving = peer->serving;
  if (!in_order && !moves_->has_left(id))
    records_->record(step(), records::PeerLost{book_.name(id), reason}, stage);
  if (!peer->leaves) carry_out(schedule_->vanishes(id, now()));
  roster_->remove(id);
  book_.remove(id);
  gathering_->plan_anew();
  carry_out(schedule_->peer_lost(id, stage, was_serving, now()));
  mail_->lost(id, reason);
}

}  // namespace swarm::actors
