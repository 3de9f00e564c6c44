#include "actors/coordinator/quorum_mail.h"

#include <chrono>
#include <utility>

#include "actors/net/links/links.h"
#include "actors/net/requests.h"
#include "actors/voter/voter_mail.h"
#include "common/names.h"
#include "routing/membership/consent_watch.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using What = routing::VoterAsk::What;

/// A disk that takes longer counts as one that does not answer.
constexpr milliseconds kVoterBudget{5'000};

Mail write_ask(const routing::VoterAsk& ask, uint64_t knows) {
  switch (ask.what) {
    case What::kPromise: {
      proto::VoterPromise message;
      message.set_knows(knows);
      *message.mutable_ballot() = to_proto(ask.ballot);
      return make_mail(std::move(message), {}, kVoterBudget);
    }
    case What::kStore: {
      proto::VoterStore message;
      message.set_knows(knows);
      *message.mutable_ballot() = to_proto(ask.ballot);
      *message.mutable_decided() = to_proto(ask.decided);
      *message.mutable_next() = to_proto(ask.next);
      return make_mail(std::move(message), {}, kVoterBudget);
    }
    case What::kLearn:
    case What::kGiveUp: {
      proto::VoterLearn message;
      message.set_knows(knows);
      *message.mutable_decided() = to_proto(ask.decided);
      message.set_gives_up(ask.voter);
      *message.mutable_ballot() = to_proto(ask.ballot);
      return make_mail(std::move(message), {}, kVoterBudget);
    }
    case What::kVote:
      break;
  }
  proto::VoterVote message;
  message.set_knows(knows);
  *message.mutable_ballot() = to_proto(ask.ballot);
  message.set_number(ask.number.value());
  *message.mutable_place() = to_proto(ask.place);
  return make_mail(std::move(message), {}, kVoterBudget);
}

Result<routing::VoterReply> read_reply(const Result<Mail>& mail,
                                       const routing::Configuration& known) {
  if (!mail) return mail.error();
  const auto& message = mail->as<proto::VoterReply>();
  auto voter = read_voter(message, known);
  if (!voter) return voter.error();
  return routing::VoterReply{message.taken(), std::move(*voter)};
}

}  // namespace

QuorumMail::QuorumMail(caf::event_based_actor* self, const NodeId& own, caf::actor links,
                       routing::Consent& consent, std::function<void()> advanced)
    : self_(self),
      own_(own),
      links_(std::move(links)),
      consent_(consent),
      advanced_(std::move(advanced)) {}

void QuorumMail::came(const PeerAddress& address) {
  if (address.id.node == own_)
    own_name_ = address.node_name;
  else if (address.node_name == own_name_)
    return;  // a stranger, where no key is asked for: its voter would take the place of ours
  consent_.came(address.node_name, address.id.node);
  endpoints_[address.id.node] = address.endpoint;
}

caf::result<Mail> QuorumMail::leaves(const Mail& mail) {
  auto voter = sender_of(mail, mail.as<proto::VoterLeaves>().voter());
  if (!voter) return to_caf(voter.error());
  came(*voter);
  consent_.attendance().leaves(voter->id.node, now());
  auto promise = self_->make_response_promise();
  leavers_[voter->id.node] = {voter->node_name, promise};
  return promise;
}

/// This node is the last to go: the others wait for what its coordinator says.
void QuorumMail::let_go() {
  for (auto it = leavers_.begin(); it != leavers_.end();) {
    const bool turn = it->first != own_ || leavers_.size() == 1;
    if (turn && routing::ConsentWatch::may_leave(consent_, it->second.node_name)) {
      it->second.may_end.deliver(make_mail(proto::Ack()));
      it = leavers_.erase(it);
    } else {
      ++it;
    }
  }
}

void QuorumMail::send() {
  for (const routing::VoterAsk& one : consent_.due(now())) ask(one);
  let_go();
}

void QuorumMail::gone(const NodeId& node) {
  consent_.attendance().gone(node);
  voters_.erase(node);
  endpoints_.erase(node);
  leavers_.erase(node);
}

void QuorumMail::clear() {
  voters_.clear();
  endpoints_.clear();
  for (auto& [node, leaver] : leavers_)
    leaver.may_end.deliver(to_caf(Error{ErrorCode::kNotReady, "this node leads no more"}));
  leavers_.clear();
}

void QuorumMail::ask(const routing::VoterAsk& one) {
  if (const auto known = voters_.find(one.process); known != voters_.end())
    return ask(known->second, one);
  self_
      ->request(links_, kVoterBudget, resolve_atom::value, ActorId{one.process, kVoterName},
                endpoints_[one.process])
      .then(
          [this, one](const caf::actor& proxy) {
            if (endpoints_.count(one.process) != 0) voters_[one.process] = proxy;
            ask(proxy, one);
          },
          [this, one](const caf::error& error) { answered(one, from_caf(error)); });
}

void QuorumMail::ask(const caf::actor& voter, const routing::VoterAsk& one) {
  const auto known = this->known();
  request_mail(self_, voter, write_ask(one, known->digest),
               [this, one, known](const Result<Mail>& reply) {
                 answered(one, read_reply(reply, known->configuration));
               });
}

std::shared_ptr<const QuorumMail::Known> QuorumMail::known() {
  const auto& holds = consent_.configuration();
  if (!known_ || known_->configuration != holds)
    known_ = std::make_shared<Known>(Known{holds, digest_of(holds)});
  return known_;
}

void QuorumMail::answered(const routing::VoterAsk& one, const Result<routing::VoterReply>& reply) {
  if (!reply)
    voters_.erase(one.process);  // an actor of this node that was started again has another handle
  if (consent_.answered(one, reply, now())) advanced_();
  send();
}

}  // namespace swarm::actors
