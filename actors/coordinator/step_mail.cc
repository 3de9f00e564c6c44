#include "actors/coordinator/step_mail.h"

#include <caf/send.hpp>

#include "actors/coordinator/coordinator_mail.h"
#include "actors/net/requests.h"

namespace swarm::actors {

using routing::RoundMember;

StepMail::StepMail(caf::event_based_actor* self, const PeerBook& book, uint32_t microbatch,
                   StepMailHooks hooks)
    : self_(self), book_(book), microbatch_(microbatch), hooks_(std::move(hooks)) {}

void StepMail::send(const routing::orders::CloseStep& order, Term term) {
  std::vector<PeerId> members;
  for (const auto& share : order.members) members.push_back(share.peer);
  ask_all({order.stage, order.round, order.step, {}}, members,
          write_close(order, book_, term, microbatch_), hooks_.closed);
}

void StepMail::send(const routing::orders::EndPeriod& order, Term term) {
  ask_all({order.stage, order.round, order.period, {}}, order.members,
          write_end_period(order, book_, term), hooks_.period_ended);
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

void StepMail::save(const PeerId& id, std::function<void(Result<Mail>)> done) {
  request_mail(self_, book_.proxy(id),
               make_mail(proto::SaveCheckpoint(), {}, std::chrono::milliseconds(60'000)),
               std::move(done));
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
