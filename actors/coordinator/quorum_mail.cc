#include "actors/coordinator/quorum_mail.h"

#include <chrono>
#include <utility>

#include "actors/net/links/links.h"
#include "actors/net/requests.h"
#include "actors/voter/voter_mail.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using What = routing::VoterAsk::What;

/// A disk that takes longer counts as one that does not answer.
constexpr milliseconds kVoterBudget{5'000};

Mail write_ask(const routing::VoterAsk& ask) {
  switch (ask.what) {
    case What::kPromise: {
      proto::VoterPromise message;
      *message.mutable_ballot() = to_proto(ask.ballot);
      return make_mail(std::move(message), {}, kVoterBudget);
    }
    case What::kStore: {
      proto::VoterStore message;
      *message.mutable_ballot() = to_proto(ask.ballot);
      *message.mutable_decided() = to_proto(ask.decided);
      *message.mutable_next() = to_proto(ask.next);
      return make_mail(std::move(message), {}, kVoterBudget);
    }
    case What::kLearn: {
      proto::VoterLearn message;
      *message.mutable_decided() = to_proto(ask.decided);
      return make_mail(std::move(message), {}, kVoterBudget);
    }
    case What::kVote:
      break;
  }
  proto::VoterVote message;
  *message.mutable_ballot() = to_proto(ask.ballot);
  message.set_number(ask.number.value());
  *message.mutable_place() = to_proto(ask.place);
  return make_mail(std::move(message), {}, kVoterBudget);
}

Result<routing::VoterReply> read_reply(const Result<Mail>& mail) {
  if (!mail) return mail.error();
  const auto& message = mail->as<proto::VoterReply>();
  auto voter = read_voter(message);
  if (!voter) return voter.error();
  return routing::VoterReply{message.taken(), std::move(*voter)};
}

}  // namespace

QuorumMail::QuorumMail(caf::event_based_actor* self, caf::actor links, routing::Consent& consent,
                       std::function<void()> advanced)
    : self_(self), links_(std::move(links)), consent_(consent), advanced_(std::move(advanced)) {}

void QuorumMail::came(const PeerAddress& address) {
  consent_.came(address.node_name, address.id.node);
  endpoints_[address.id.node] = address.endpoint;
}

void QuorumMail::send() {
  for (const routing::VoterAsk& one : consent_.due(now())) ask(one);
}

void QuorumMail::gone(const NodeId& node) {
  consent_.attendance().gone(node);
  voters_.erase(node);
  endpoints_.erase(node);
}

void QuorumMail::clear() {
  voters_.clear();
  endpoints_.clear();
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
  request_mail(self_, voter, write_ask(one),
               [this, one](Result<Mail> reply) { answered(one, read_reply(reply)); });
}

void QuorumMail::answered(const routing::VoterAsk& one, const Result<routing::VoterReply>& reply) {
  if (!reply)
    voters_.erase(one.process);  // an actor of this node that was started again has another handle
  if (consent_.answered(one, reply, now())) advanced_();
  send();
}

}  // namespace swarm::actors
