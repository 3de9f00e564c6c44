/// The trainers that wait for slots and the promises they are answered by; who gets what is decided
/// in routing/steps/lease_desk.h. Every promise is answered, unless its node is gone. Used by the
/// coordinator's handlers only.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <chrono>
#include <map>
#include <vector>

#include "actors/net/mail.h"
#include "common/result.h"
#include "common/run_text.h"
#include "common/strong_id.h"
#include "routing/steps/lease_desk.h"
#include "routing/steps/schedule.h"

namespace swarm::actors {

/// Of a lease that begins now; seconds of the coordinator's clock.
double lease_end_s(std::chrono::nanoseconds limit, routing::Time now);
/// The trainer who asks still has these slots under way and, if it says so, no others.
void renew_leases(const proto::Lease& message, const ActorId& trainer,
                  std::chrono::nanoseconds limit, routing::Schedule& schedule, routing::Time now);

class LeaseCounter {
 public:
  /// What an answer says besides its slots.
  struct Stamp {
    Term term;
    Step step;
    bool over = false;
    RunText text;
  };
  explicit LeaseCounter(caf::event_based_actor* self) : self_(self) {}

  /// To be called in the handler of the trainer's request, and the promise to be returned from it.
  /// Errors: kInvalidArgument (no slot is asked for).
  Result<caf::response_promise> wait(const ActorId& trainer, uint32_t max_slots, routing::Time now);
  void serve(const routing::LeaseDesk::Source& source, const Stamp& stamp);
  /// Answers those whose time is up, or all once training is over.
  void expire(routing::Time now, const Stamp& stamp);
  /// The node's trainer asks anew: what it asked for before is void.
  void withdraw(const NodeId& node, const Stamp& stamp);
  /// The node is gone.
  void drop(const NodeId& node);
  void refuse_all(const Error& error);
  size_t waiting() const { return desk_.waiting(); }

 private:
  using Ticket = routing::LeaseDesk::Ticket;
  void answer(Ticket ticket, const routing::Leases& leases, const Stamp& stamp);

  caf::event_based_actor* self_;
  routing::LeaseDesk desk_;
  std::map<Ticket, caf::response_promise> promises_;
  Ticket last_ = 0;
};

}  // namespace swarm::actors
