#include "actors/node/dial_back.h"

#include <fmt/format.h>

#include <caf/stateful_actor.hpp>
#include <utility>

#include "actors/net/links/socket.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "swarm/wire.pb.h"

namespace swarm::actors {
namespace {

struct DialBackState {
  static constexpr const char* name = "dial_back";
  int under_way = 0;
};
using Self = caf::stateful_actor<DialBackState>;

proto::DialBackReply reply_of(const Result<NodeInfo>& found, const NodeId& asker) {
  proto::DialBackReply reply;
  const bool full = !found && found.code() == ErrorCode::kOverloaded;  // it answered, as it could
  reply.set_reached(full || (found && found->id == asker));
  if (!found) reply.set_reason(found.error().detail);
  if (found && found->id != asker)
    reply.set_reason(fmt::format("another node answers there, '{}'", found->name));
  return reply;
}

caf::behavior dial_back(Self* self, const Knock& knock, bool detached) {
  install_default_handlers(self);
  return {[self, knock, detached](const Mail& mail) -> caf::result<Mail> {
    if (mail.kind != proto::KIND_DIAL_BACK)
      return to_caf(ErrorCode::kInvalidArgument, "takes only dial_back");
    const auto& question = mail.as<proto::DialBack>();
    const auto asker = NodeId::from_bytes(question.node_id());
    const auto endpoint = links::told_endpoint(question.endpoint());
    if (!asker) return to_caf(asker.error());
    if (auto own = speaks_for(mail, *asker); !own) return to_caf(own.error());
    if (!endpoint) return to_caf(endpoint.error());
    if (self->state.under_way >= kMaxDialBacks)
      return to_caf(Error{ErrorCode::kOverloaded, "others are dialled back", 1'000});
    ++self->state.under_way;
    auto promise = self->make_response_promise<Mail>();
    knock_in_background(self, knock, *endpoint, detached,
                        [self, promise, asker = *asker](const Result<NodeInfo>& found) mutable {
                          --self->state.under_way;
                          promise.deliver(make_mail(reply_of(found, asker)));
                        });
    return promise;
  }};
}

}  // namespace

caf::actor spawn_dial_back(caf::actor_system& system, const caf::actor& links, Knock knock,
                           bool detached) {
  auto actor = system.spawn([knock = std::move(knock), detached](Self* self) {
    return dial_back(self, knock, detached);
  });
  caf::anon_send(links, register_atom::value, std::string(kDialBackName), actor);
  return actor;
}

}  // namespace swarm::actors
