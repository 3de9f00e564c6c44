#include "actors/coordinator/lease_counter.h"

#include <chrono>

#include "actors/coordinator/coordinator_mail.h"

namespace swarm::actors {
namespace {

/// A trainer waits this long for a slot before it is told to ask again.
constexpr std::chrono::milliseconds kLeaseWait{1'000};

}  // namespace

double lease_end_s(std::chrono::nanoseconds limit, routing::Time now) {
  return std::chrono::duration<double>(now + limit).count();
}

void renew_leases(const proto::Lease& message, const ActorId& trainer,
                  std::chrono::nanoseconds limit, routing::Schedule& schedule, routing::Time now) {
  if (message.no_others()) {
    routing::CarriedSlots carried;
    for (const auto& one : message.carried())
      carried.emplace(Step(one.step()), Slot(one.slot()), Attempt(one.attempt()));
    schedule.trainer_lost(trainer, carried);
  }
  for (const auto& one : message.carried()) {
    routing::SlotReport report;
    report.what = routing::SlotReport::What::kCarries;
    report.step = Step(one.step());
    report.slot = Slot(one.slot());
    report.attempt = Attempt(one.attempt());
    report.deadline_s = lease_end_s(limit, now);
    (void)schedule.slot_reported(report, now).ok();  // of a step that is over: it hears so soon
  }
}

Result<caf::response_promise> LeaseCounter::wait(const ActorId& trainer, uint32_t max_slots,
                                                 routing::Time now) {
  Status taken = desk_.wait(last_ + 1, trainer, max_slots, now + kLeaseWait);
  if (!taken.ok()) return taken.error();
  return promises_[++last_] = self_->make_response_promise();
}

void LeaseCounter::answer(Ticket ticket, const routing::Leases& leases, const Stamp& stamp) {
  promises_.at(ticket).deliver(
      write_leases(leases, stamp.term, stamp.step, stamp.over, stamp.text));
  promises_.erase(ticket);
}

void LeaseCounter::serve(const routing::LeaseDesk::Source& source, const Stamp& stamp) {
  for (const auto& [ticket, leases] : desk_.serve(source)) answer(ticket, leases, stamp);
}

void LeaseCounter::expire(routing::Time now, const Stamp& stamp) {
  for (Ticket ticket : desk_.expire(now, stamp.over)) answer(ticket, {}, stamp);
}

void LeaseCounter::withdraw(const NodeId& node, const Stamp& stamp) {
  for (Ticket ticket : desk_.withdraw(node)) answer(ticket, {}, stamp);
}

void LeaseCounter::drop(const NodeId& node) {
  for (Ticket ticket : desk_.withdraw(node)) promises_.erase(ticket);
}

void LeaseCounter::refuse_all(const Error& error) {
  for (Ticket ticket : desk_.clear()) {
    promises_.at(ticket).deliver(to_caf(error));
    promises_.erase(ticket);
  }
}

}  // namespace swarm::actors
