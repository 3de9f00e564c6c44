#include "actors/node/dial_back.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <map>
#include <string>
#include <utility>

#include "actors/net/errors.h"
#include "actors/net/links/places.h"
#include "actors/net/links/socket.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "swarm/wire.pb.h"

namespace swarm::actors {
namespace {

constexpr std::chrono::milliseconds kLocal{5'000};
constexpr uint16_t kFirstFreePort = 1'024;  // those below are the system's

const LinkStats* link_of(const std::vector<LinkStats>& links, const NodeId& node) {
  const auto link = std::find_if(links.begin(), links.end(),
                                 [&](const LinkStats& one) { return one.node.id == node; });
  return link == links.end() ? nullptr : &*link;
}

proto::DialBackReply reply_of(const Result<NodeInfo>& found, const NodeId& asker) {
  proto::DialBackReply reply;
  const bool full = !found && found.code() == ErrorCode::kOverloaded;  // it answered, as it could
  reply.set_reached(full || (found && found->id == asker));
  if (!found) reply.set_reason(found.error().detail);
  if (found && found->id != asker)
    reply.set_reason(fmt::format("another node answers there, '{}'", found->name));
  return reply;
}

class DialBack {
 public:
  static constexpr const char* name = "dial_back";
  using Self = caf::stateful_actor<DialBack>;

  caf::behavior start(Self* self, const caf::actor& links, const Knock& knock, bool detached) {
    self_ = self;
    links_ = links;
    knock_ = knock;
    detached_ = detached;
    install_default_handlers(self);
    return {[this](const Mail& mail) { return on_mail(mail); }};
  }

 private:
  using Promise = caf::typed_response_promise<Mail>;

  caf::result<Mail> on_mail(const Mail& mail) {
    if (mail.kind != proto::KIND_DIAL_BACK)
      return to_caf(ErrorCode::kInvalidArgument, "takes only dial_back");
    const auto& question = mail.as<proto::DialBack>();
    const auto asker = NodeId::from_bytes(question.node_id());
    const auto endpoint = links::told_endpoint(question.endpoint());
    if (!asker) return to_caf(asker.error());
    if (auto own = speaks_for(mail, *asker); !own) return to_caf(own.error());
    if (!endpoint) return to_caf(endpoint.error());
    if (under_way_ >= kMaxDialBacks)
      return to_caf(Error{ErrorCode::kOverloaded, "others are dialled back", 1'000});
    ++under_way_;
    auto promise = self_->make_response_promise<Mail>();
    if (!mail.from) {
      dial(*asker, *endpoint, promise);
    } else {
      judge(*asker, *endpoint, promise);
    }
    return promise;
  }

  void judge(const NodeId& asker, const Endpoint& at, Promise promise) {
    auto refuse = [this, promise](const Error& why) mutable {
      --under_way_;
      promise.deliver(to_caf(why));
    };
    self_->request(links_, kLocal, stats_atom::value)
        .then(
            [=](const LinksStats& stats) mutable {
              if (auto may = may_dial_back(stats.links, asker, at); !may)
                return refuse(may.error());
              const auto* link = link_of(stats.links, asker);
              if (auto may = rested(*link); !may) return refuse(may.error());
              dial(asker, at, promise);
            },
            [=](const caf::error& error) mutable { refuse(from_caf(error)); });
  }

  /// Whether its address is due again; from now on it is not.
  Status rested(const LinkStats& link) {
    const std::string host = links::host_of(link.remote);
    if (link.proven || host.empty() || is_loopback(host)) return {};
    const auto now = self_->clock().now();
    for (auto it = dialled_.begin(); it != dialled_.end();)
      it = now - it->second >= kDialBackPause ? dialled_.erase(it) : std::next(it);
    if (dialled_.emplace(host, now).second) return {};
    return Error{ErrorCode::kOverloaded, "it was dialled back just now",
                 static_cast<uint32_t>(kDialBackPause.count())};
  }

  void dial(const NodeId& asker, const Endpoint& at, Promise promise) {
    knock_in_background(self_, knock_, at, detached_,
                        [this, promise, asker](const Result<NodeInfo>& found) mutable {
                          --under_way_;
                          promise.deliver(make_mail(reply_of(found, asker)));
                        });
  }

  Self* self_ = nullptr;
  caf::actor links_;
  Knock knock_;
  bool detached_ = true;
  int under_way_ = 0;
  std::map<std::string, caf::actor_clock::time_point> dialled_;  // by host
};

}  // namespace

Status may_dial_back(const std::vector<LinkStats>& links, const NodeId& asker,
                     const Endpoint& wanted) {
  const auto* link = link_of(links, asker);
  if (link == nullptr) return Error{ErrorCode::kRefused, "the link is gone", 0};
  if (link->proven || link->remote.empty()) return {};
  const bool own = links::host_of(wanted.text()) == links::host_of(link->remote);
  if (own && (wanted.port >= kFirstFreePort || wanted == link->node.endpoint)) return {};
  return Error{ErrorCode::kRefused,
               "only the address that it comes from is dialled back without the run's key", 0};
}

caf::actor spawn_dial_back(caf::actor_system& system, const caf::actor& links, Knock knock,
                           bool detached) {
  auto actor = system.spawn([links, knock = std::move(knock), detached](DialBack::Self* self) {
    return self->state.start(self, links, knock, detached);
  });
  caf::anon_send(links, register_atom::value, std::string(kDialBackName), actor);
  return actor;
}

}  // namespace swarm::actors
