/// Snapshots that somebody orders: a person at the console, or the coordinator at the end of the run.
#pragma once

#include <functional>
#include <vector>

#include "actors/coordinator/step_mail.h"
#include "routing/membership/roster.h"
#include "routing/steps/schedule.h"

namespace swarm::actors {

/// One order at a time, and none while snapshots that were asked for before are not durable in every stage (SavePolicy):
/// orders that come meanwhile are carried out as one, later.
///
///     ask() -> waits -> (all peers are asked) -> all have answered: done(status)
///
/// Part of the state of a Coordinator; used only from its handlers.
class SaveOrders {
 public:
  using Done = std::function<void(const Status&)>;
  SaveOrders(StepMail& mail, const routing::Roster& roster, routing::Schedule& schedule)
      : mail_(mail), roster_(roster), schedule_(schedule) {}

  /// Of the state as it is when its turn comes. Errors: kNotReady (nobody serves, the coordinator steps
  /// down), what a peer answers.
  void ask(Done done, routing::Time now);
  /// Whether those that wait may begin.
  void look(routing::Time now);
  /// At once, whatever waits. Errors: as ask().
  void save_all(Done done);
  /// The coordinator steps down.
  void refuse_all(const Error& why);

 private:
  StepMail& mail_;
  const routing::Roster& roster_;
  routing::Schedule& schedule_;
  std::vector<Done> waiting_;
};

}  // namespace swarm::actors
