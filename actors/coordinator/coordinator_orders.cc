// Coordinator: carries out the orders of its schedule and its gathering.
#include <type_traits>
#include <utility>
#include <variant>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/coordinator/coordinator_state.h"
#include "actors/net/local.h"
#include "records/catalogue.h"

namespace swarm::actors {

namespace orders = routing::orders;
using std::chrono::milliseconds;

void CoordinatorState::carry_out(const routing::Orders& orders) {
  for (const routing::Order& order : orders)
    std::visit([this](const auto& one) { obey(one); }, order);
  quorum_->send();
}

template <class Order>
void CoordinatorState::obey(const Order& order) {
  const Term term = office_->office().term();
  if constexpr (std::is_same_v<Order, orders::Note>)
    records_->write(order);
  else if constexpr (std::is_same_v<Order, orders::WriteAudit>)
    records_->write(order, term);
  else if constexpr (std::is_same_v<Order, orders::WriteMetrics>)
    records_->write(order, learners_of(*roster_), term);
  else if constexpr (std::is_same_v<Order, orders::Gather>)
    gather(order.reason, schedule_->applied());
  else if constexpr (std::is_same_v<Order, orders::Open>) {
    std::vector<routing::Fact> agreed;
    watch_->tell(consent_, now(), agreed);
    records_->write(std::move(agreed), order.step);
    carry_out(schedule_->open(order.step, order.history, {term, gathering_->count()}, now()));
    records_->training_begins(order.step, office_->office().rivals());
  } else if constexpr (std::is_same_v<Order, orders::AskToRegister>)
    mail_->tell(order.peer, write_restore(term, step(), order.reason));
  else if constexpr (std::is_same_v<Order, orders::StepDown>)
    step_down(order.reason);
  else if constexpr (std::is_same_v<Order, orders::ServeLeases>)
    serve_leases();
  else if constexpr (std::is_same_v<Order, orders::SaveAll>)
    save_all();
  else if constexpr (std::is_same_v<Order, orders::SaveLate>) {
    const auto* late = roster_->find(order.peer);
    mail_->save(order.peer, late ? late->saves.limit : routing::Time(),
                schedule_->saves().keep(*roster_), [this, id = order.peer](Result<Mail> reply) {
                  auto* peer = roster_->find(id);
                  if (!reply && peer != nullptr) peer->late_save = false;
                });
  } else if constexpr (std::is_same_v<Order, orders::EndLeases>)
    leases_->expire(now(), stamp());
  else if constexpr (std::is_same_v<Order, orders::Later>)
    resume_later(order);
  else
    mail_->send(order, term);
}

void CoordinatorState::gather(const std::string& reason, std::optional<Step> applied) {
  schedule_->close();
  records_->swarm_gathers();
  carry_out(gathering_->begin(reason, applied, now()));
}

void CoordinatorState::resume_later(const orders::Later& later) {
  LocalTask task([this, later] {
    if (active()) carry_out(schedule_->resume(later, now()));
  });
  if (later.pause == routing::Time(0))
    self_->send(self_, run_later_atom::value, std::move(task));
  else
    self_->delayed_send(self_, later.pause, run_later_atom::value, std::move(task));
}

void CoordinatorState::save_all() {
  saves_->save_all([this](const Status& status) { carry_out(schedule_->saved(status, now())); });
}

StepMailHooks CoordinatorState::mail_hooks() {
  StepMailHooks hooks;
  hooks.closed = [this](const routing::RoundMember& member, Result<Mail> reply) {
    if (reply && reply->as<proto::CloseStepReply>().has_committed()) {
      const auto& bytes = reply->as<proto::CloseStepReply>().committed().bytes_sent();
      records_->traffic().report(member.peer.node, {bytes.begin(), bytes.end()});
    }
    carry_out(schedule_->close_answered(member, read_close(reply), now()));
  };
  hooks.period_ended = [this](const routing::RoundMember& member, Result<Mail> reply) {
    if (reply && schedule_->frame().is_open()) {
      const auto& head = reply->as<proto::EndPeriodReply>();
      records_->traffic().report(member.peer.node,
                                 {head.bytes_sent().begin(), head.bytes_sent().end()});
      records_->add_staleness(member.stage, Staleness::from(head));
    }
    carry_out(schedule_->period_answered(member, read_period(reply), now()));
  };
  hooks.committed = [this](const PeerId& id, Step, Result<Mail> reply) {
    if (!active()) return;
    if (reply) {
      const auto& bytes = reply->as<proto::CommitStepReply>().bytes_sent();
      records_->traffic().report(id.node, {bytes.begin(), bytes.end()});
    }
    carry_out(schedule_->commit_answered(id, read_commit(reply), now()));
  };
  hooks.text = [this] { return text_.text(); };
  hooks.round = [this](Stage stage, Round round) { return schedule_->round(stage, round); };
  hooks.asked_again = [this](const routing::RoundMember& member) {
    records_->record(step(),
                     records::MemberAskedAgain{book_.name(member.peer), member.round.value()},
                     member.stage);
  };
  return hooks;
}

}  // namespace swarm::actors
