/// Carries out a schedule's orders that are mail to peers, and gives their answers back as facts.
/// Used by the coordinator's handlers only; sends at once, never waits.
#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "actors/coordinator/close_mail.h"
#include "actors/coordinator/peer_book.h"
#include "actors/net/mail.h"
#include "common/run_text.h"
#include "common/strong_id.h"
#include "routing/steps/open_step.h"
#include "routing/steps/orders.h"

namespace swarm::actors {

/// Whom answers are told to. They may come at any later time, or never if the actor ends.
struct StepMailHooks {
  std::function<void(const routing::RoundMember&, Result<Mail>)> closed, period_ended;
  std::function<void(const PeerId&, Step step, Result<Mail>)> committed;
  std::function<RunText()> text;  ///< The run's.
  /// Of a round: null if it is given up or over.
  std::function<const routing::StageRound*(Stage stage, Round round)> round;
  /// A round takes long: the member was asked once more.
  std::function<void(const routing::RoundMember&)> asked_again;
};

class StepMail {
 public:
  StepMail(caf::event_based_actor* self, const PeerBook& book, uint32_t microbatch,
           StepMailHooks hooks);

  void send(const routing::orders::CloseStep& order, Term term);
  void send(const routing::orders::EndPeriod& order, Term term);
  void send(const routing::orders::AbandonRound& order, Term term);
  void send(const routing::orders::CommitStep& order, Term term);
  /// Asks a peer for a snapshot; done(reply) once it is durable, or not, or lost().
  /// `limit`: the peer's own for its snapshot. `keep`: the one that it may not prune.
  void save(const PeerId& id, routing::Time limit, const std::optional<KeepStep>& keep,
            std::function<void(Result<Mail>)> done);
  /// The peer is gone, and what it was asked to save with it; its node may still be there.
  void lost(const PeerId& id, const std::string& reason);
  /// One way; does nothing for a peer that cannot be reached yet.
  void tell(const PeerId& id, const Mail& mail);

 private:
  using Saved = std::function<void(Result<Mail>)>;
  using Answered = std::function<void(const routing::RoundMember&, Result<Mail>)>;
  void ask_all(const routing::RoundMember& round, const std::vector<PeerId>& members,
               const Mail& mail, const Answered& answered);
  void ask(const routing::RoundMember& member, const Mail& mail, const Answered& answered);
  void answered_by_id(const CloseMail& close, const routing::RoundMember& member,
                      Result<Mail> reply);

  caf::event_based_actor* self_;
  const PeerBook& book_;
  uint32_t microbatch_;
  ToldMembers told_;
  uint64_t saves_ = 0;  ///< Asked for.
  std::map<std::pair<PeerId, uint64_t>, Saved> saving_;
  StepMailHooks hooks_;
};

}  // namespace swarm::actors
