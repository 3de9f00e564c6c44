#include "actors/coordinator/step_mail.h"

#include <caf/send.hpp>
#include <vector>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/net/requests.h"

namespace swarm::actors {

using routing::RoundMember;

StepMail::StepMail(caf::event_based_actor* self, const PeerBook& book, uint32_t microbatch,
                   StepMailHooks hooks)
    : self_(self), book_(book), microbatch_(microbatch), hooks_(std::move(hooks)) {}

void StepMail::send(const routing::orders::CloseStep& order, Term term) {
  auto close = std::make_shared<const CloseMail>(order, book_, term, microbatch_, hooks_.text());
  for (const auto& share : order.members) {
    if (!book_.proxy(share.peer)) continue;
    const RoundMember member{order.stage, order.round, order.step, share.peer};
    if (told_.is_new(order.stage, close->members_id(), share.peer))
      ask(member, close->to(share.peer, /*in_full=*/true), hooks_.closed);
    else
      ask(member, close->to(share.peer, /*in_full=*/false),
          [this, close](const RoundMember& asked, Result<Mail> reply) {
            answered_by_id(*close, asked, std::move(reply));
          });
  }
}

/// A member that does not know the list by its id (its stage's actors were started anew) gets it.
void StepMail::answered_by_id(const CloseMail& close, const RoundMember& member,
                              Result<Mail> reply) {
  const routing::StageRound* current = hooks_.round(member.stage, member.round);
  const bool unknown = reply.code() == ErrorCode::kNotFound && current != nullptr &&
                       current->runs() && book_.proxy(member.peer);
  if (!unknown) return hooks_.closed(member, std::move(reply));
  ask(member, close.to(member.peer, /*in_full=*/true), hooks_.closed);
}

void StepMail::send(const routing::orders::EndPeriod& order, Term term) {
  ask_all({order.stage, order.round, order.period, {}}, order.members,
          write_end_period(order, book_, term, hooks_.text()), hooks_.period_ended);
}

void StepMail::send(const routing::orders::AbandonRound& order, Term term) {
  const Mail mail = write_abandon(order, term);
  for (const PeerId& id : order.members) tell(id, mail);
}

void StepMail::send(const routing::orders::CommitStep& order, Term term) {
  request_mail(self_, book_.proxy(order.peer), write_commit(order, term),
               [this, id = order.peer, step = order.step](Result<Mail> reply) {
                 hooks_.committed(id, step, std::move(reply));
               });
}

void StepMail::save(const PeerId& id, routing::Time limit, const std::optional<KeepStep>& keep,
                    std::function<void(Result<Mail>)> done) {
  proto::SaveCheckpoint message;
  if (keep) *message.mutable_keep() = to_proto(*keep);
  const std::pair key(id, ++saves_);
  saving_[key] = std::move(done);
  request_mail(self_, book_.proxy(id), make_mail(std::move(message), {}, save_budget(limit)),
               [this, key](Result<Mail> reply) {
                 auto waiting = saving_.extract(key);
                 if (!waiting.empty()) waiting.mapped()(std::move(reply));
               });
}

void StepMail::lost(const PeerId& id, const std::string& reason) {
  std::vector<Saved> gone;
  for (auto it = saving_.lower_bound({id, 0}); it != saving_.end() && it->first.first == id;)
    gone.push_back(saving_.extract(it++).mapped());
  for (const Saved& done : gone) done(Error{ErrorCode::kLinkLost, "the peer is gone: " + reason});
}

void StepMail::tell(const PeerId& id, const Mail& mail) {
  if (caf::actor proxy = book_.proxy(id)) caf::anon_send(proxy, mail);
}

void StepMail::ask_all(const RoundMember& round, const std::vector<PeerId>& members,
                       const Mail& mail, const Answered& answered) {
  RoundMember member = round;
  for (const PeerId& id : members) {
    member.peer = id;
    if (book_.proxy(id)) ask(member, mail, answered);
  }
}

/// Rounds of large stages over slow links take longer than one request may: while nobody has
/// answered, a member whose time is up is asked again (it waits for, or repeats, the same answer).
/// One that stays silent when others are done has failed.
void StepMail::ask(const RoundMember& member, const Mail& mail, const Answered& answered) {
  const routing::StageRound* asked = hooks_.round(member.stage, member.round);
  const bool others_done = asked == nullptr || asked->any_answer();
  auto done = [this, member, mail, answered, others_done](Result<Mail> reply) {
    const routing::StageRound* current = hooks_.round(member.stage, member.round);
    const bool again = reply.code() == ErrorCode::kPeerTimeout && !others_done &&
                       current != nullptr && current->runs() && book_.proxy(member.peer);
    if (!again) return answered(member, std::move(reply));
    hooks_.asked_again(member);
    ask(member, mail, answered);
  };
  request_mail(self_, book_.proxy(member.peer), mail, std::move(done));
}

}  // namespace swarm::actors
