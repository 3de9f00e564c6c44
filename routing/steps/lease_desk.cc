#include "routing/steps/lease_desk.h"

#include <algorithm>
#include <iterator>

namespace swarm::routing {

Status LeaseDesk::wait(Ticket ticket, const ActorId& trainer, uint32_t max_slots, Time give_up_at) {
  if (max_slots == 0)
    return Error{ErrorCode::kInvalidArgument, "a lease of no slots was asked for"};
  waiting_.push_back({ticket, trainer, std::min(max_slots, kMostSlots), give_up_at});
  return {};
}

std::vector<LeaseDesk::Delivery> LeaseDesk::serve(const Source& source) {
  std::vector<Delivery> deliveries;
  while (!waiting_.empty()) {
    const Waiting& first = waiting_.front();
    Leases leases = source(first.trainer, first.max_slots);
    if (leases.slots.empty()) break;
    deliveries.push_back({first.ticket, std::move(leases)});
    waiting_.pop_front();
  }
  return deliveries;
}

std::vector<LeaseDesk::Ticket> LeaseDesk::expire(Time now, bool over) {
  std::vector<Ticket> expired;
  while (!waiting_.empty() && (over || waiting_.front().give_up_at <= now)) {
    expired.push_back(waiting_.front().ticket);
    waiting_.pop_front();
  }
  return expired;
}

std::vector<LeaseDesk::Ticket> LeaseDesk::withdraw(const NodeId& node) {
  std::vector<Ticket> gone;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const bool its = it->trainer.node == node;
    if (its) gone.push_back(it->ticket);
    it = its ? waiting_.erase(it) : std::next(it);
  }
  return gone;
}

std::vector<LeaseDesk::Ticket> LeaseDesk::clear() {
  std::vector<Ticket> all;
  for (const Waiting& one : waiting_) all.push_back(one.ticket);
  waiting_.clear();
  return all;
}

}  // namespace swarm::routing
