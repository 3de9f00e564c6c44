/// Sending Mail with a deadline from an event-based actor; small conversions shared by the roles.
#pragma once

#include <caf/event_based_actor.hpp>
#include <utility>

#include "actors/net/errors.h"
#include "actors/net/mail.h"
#include "common/ids.h"
#include "common/keep_step.h"
#include "common/run_text.h"
#include "common/strong_id.h"
#include "swarm/train.pb.h"

namespace swarm::actors {

/// Requests `mail` from `target`; `done(Result<Mail>)` runs in `self`, always, at the latest a
/// moment after mail.budget: the link's own deadline comes first and has the better reason.
template <class Done>
void request_mail(caf::event_based_actor* self, const caf::actor& target, const Mail& mail,
                  Done done) {
  auto on_error = done;
  self->request(target, mail.budget + std::chrono::milliseconds(250), mail)
      .then(
          [done](const Mail& reply) mutable { done(Result<Mail>(reply)); },
          [on_error](const caf::error& error) mutable { on_error(Result<Mail>(from_caf(error))); });
}

inline proto::Peer to_proto(const PeerId& id, const Endpoint& endpoint,
                            const std::string& node_name) {
  proto::Peer peer;
  peer.set_node_id(id.node.raw());
  peer.set_actor(id.actor);
  peer.set_endpoint(endpoint.text());
  peer.set_node_name(node_name);
  return peer;
}

/// Where a peer of a message is, checked. Errors: kInvalidArgument.
struct PeerAddress {
  PeerId id;
  Endpoint endpoint;
  std::string node_name;
};
Result<PeerAddress> from_proto(const proto::Peer& peer);
/// Likewise of mail that says it is of `sender`, whose name is the one of the hello, too: votes, rests and
/// places go by names. Errors: kRefused.
Status speaks_for(const Mail& mail, const PeerAddress& sender);
/// Who names itself in the mail. Errors: those of from_proto(), kRefused (see speaks_for()).
Result<PeerAddress> sender_of(const Mail& mail, const proto::Peer& peer);

/// Of a reason that another node gives, for printable().
constexpr size_t kMaxReason = 512;

proto::Text to_proto(const RunText& text);
/// What strangers say in it is printable and cut.
RunText from_proto(const proto::Text& text);

proto::KeepStep to_proto(const KeepStep& keep);
inline KeepStep keep_step_of(const proto::KeepStep& keep) {
  return {Step(keep.step()), keep.order()};
}

/// What is wrong when a trainer reads `theirs`, and what to do.
std::string other_text(const RunText& theirs, const RunText& run);

/// Installs handlers that log what would otherwise go to stderr or end the actor in silence:
/// unexpected messages are counted and dropped, exceptions in handlers are logged and survived
/// by the process (the actor ends, its supervisor sees it).
void install_default_handlers(caf::scheduled_actor* self);

}  // namespace swarm::actors
