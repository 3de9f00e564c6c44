/// Which stage peers serve: mail and registrations as routing/membership/relocation.h wants them and back,
/// and its events. Used by the coordinator's handlers only; never waits.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <optional>
#include <string>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/coordinator/coordinator_records.h"
#include "actors/coordinator/stage_search.h"
#include "actors/net/mail.h"
#include "routing/membership/admission.h"
#include "routing/membership/leavers.h"
#include "routing/membership/relocation.h"
#include "routing/steps/schedule.h"

namespace swarm::actors {

class RelocationMail {
 public:
  struct Hooks {
    using PeerIsGone = std::function<void(const PeerId&, const std::string& reason)>;
    /// Take a peer out of the roster.
    PeerIsGone gone;
    PeerIsGone left;  ///< In order, as it says itself (the event stage_left).
    /// While the swarm gathers; without who announces itself, which is found here.
    std::function<routing::Levy()> levy;
  };
  /// `schedule` and `records` outlive this, as the roster does.
  RelocationMail(caf::event_based_actor* self, StageSearch search, routing::Relocation relocation,
                 routing::Roster& roster, const routing::Schedule& schedule,
                 CoordinatorRecords& records, Hooks hooks);

  void begin(Term term);
  void end();

  /// What who registers and is no peer is told: it has left its stage, or waits for one.
  std::optional<routing::Verdict> aside(const Registration& registration);
  /// A peer has registered and is to be told `verdict`.
  void registered(const Registration& registration, routing::Verdict& verdict);
  bool has_left(const PeerId& id) const { return relocation_.left_by(id) != 0; }
  /// Whether stages that nobody serves are taken over by peers of others.
  const routing::Conscription& conscription() const { return relocation_.conscription(); }
  /// It was told to leave the swarm.
  void leaves(const PeerId& id);
  void lost(const NodeId& node);
  /// At every tick.
  void look();
  /// At every tick while the swarm gathers, before the office is given up because a stage is missing.
  void levy();
  /// MayLeave, MovePeer, Rebalance.
  caf::result<Mail> take(const Mail& mail);

 private:
  caf::result<Mail> may_leave(const Mail& mail);
  caf::result<Mail> may_end(const PeerId& id, const proto::MayLeave& message);
  routing::Levy facts() const;
  /// Nothing is left to train: nobody moves any more.
  bool over() const;
  bool gathers() const { return schedule_.frame().phase == routing::Frame::Phase::kClosed; }
  void write_notes();
  void write(const routing::MoveOrdered& note);
  void write(const routing::MoveDone& note);
  void write(const routing::MoveGivenUp& note);
  void write(const routing::MovesHeld& note);
  void write(const routing::ConscriptionHeld& note);
  Step step() const { return schedule_.frame().open.step; }
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::event_based_actor* self_;
  StageSearch search_;
  routing::Relocation relocation_;
  routing::Leavers leavers_;
  routing::Roster& roster_;
  const routing::Schedule& schedule_;
  CoordinatorRecords& records_;
  Hooks hooks_;
  Term term_;
};

}  // namespace swarm::actors
