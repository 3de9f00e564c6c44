#include "actors/node/call_back.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <map>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/links/links.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "routing/dht/dht_key.h"
#include "swarm/wire.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLocal{5'000};

class CallBack {
 public:
  static constexpr const char* name = "call_back";
  using Self = caf::stateful_actor<CallBack>;

  caf::behavior start(Self* self, CallBackDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    self_->send(deps_.links, register_atom::value, std::string(kCallBackName),
                caf::actor_cast<caf::actor>(self_));
    return {[this](const Mail& mail) {
      if (mail.kind == proto::KIND_CALL_ME) on_call(mail.as<proto::CallMe>());
    }};
  }

 private:
  void on_call(const proto::CallMe& call) {
    const auto wanted = NodeId::from_bytes(call.node_id());
    const auto caller = NodeId::from_bytes(call.caller_id());
    if (!wanted || !caller || !is_due(*wanted, *caller)) return;
    if (*caller == deps_.self) return ask_for(*wanted);
    if (*wanted == deps_.self) return dial(call.endpoint());
    if (!call.passed_on()) pass_on(*wanted, call);
  }

  /// Whether this was not done lately; from now on it was.
  bool is_due(const NodeId& wanted, const NodeId& caller) {
    const auto now = self_->clock().now();
    for (auto it = lately_.begin(); it != lately_.end();)
      it = now - it->second >= deps_.pause ? lately_.erase(it) : std::next(it);
    if (lately_.size() >= kMaxCallBacks) return false;
    return lately_.emplace(std::make_pair(wanted, caller), now).second;
  }

  void ask_for(const NodeId& wanted) {
    if (deps_.endpoint.port == 0) return;
    self_->request(deps_.dht, kLocal, dht_status_atom::value)
        .then([this, wanted](const DhtStatus& status) { ask_for(wanted, status.contacts); },
              [](const caf::error&) {});
  }

  void ask_for(const NodeId& wanted, std::vector<routing::Contact> contacts) {
    std::sort(contacts.begin(), contacts.end(),
              [&wanted](const routing::Contact& a, const routing::Contact& b) {
                return routing::xor_distance(a.id, wanted) < routing::xor_distance(b.id, wanted);
              });
    proto::CallMe call;
    call.set_node_id(wanted.raw());
    call.set_caller_id(deps_.self.raw());
    call.set_endpoint(deps_.endpoint.text());
    const Mail mail = make_mail(std::move(call));
    size_t asked = 0;
    for (const auto& contact : contacts) {
      if (contact.id == wanted || asked == kAskedToPassOn) continue;
      ++asked;
      tell(contact.id, contact.endpoint, mail);
    }
  }

  /// Without an address: over a link that there is, or not at all.
  void pass_on(const NodeId& wanted, proto::CallMe call) {
    call.set_passed_on(true);
    tell(wanted, Endpoint{}, make_mail(std::move(call)));
  }

  void tell(const NodeId& node, const Endpoint& endpoint, const Mail& mail) {
    self_->request(deps_.links, kLocal, resolve_atom::value, ActorId{node, kCallBackName}, endpoint)
        .then([mail](const caf::actor& proxy) { caf::anon_send(proxy, mail); },
              [](const caf::error&) {});
  }

  void dial(const std::string& caller) {
    const auto endpoint = Endpoint::parse(caller);
    if (!endpoint) return;
    log_info("event=calls_back endpoint=" + endpoint->text());
    self_->request(deps_.links, kLocal, connect_atom::value, *endpoint)
        .then([](const NodeInfo&) {}, [](const caf::error&) {});
  }

  Self* self_ = nullptr;
  CallBackDeps deps_;
  std::map<std::pair<NodeId, NodeId>, caf::actor_clock::time_point> lately_;  ///< (wanted, caller)
};

}  // namespace

caf::actor spawn_call_back(caf::actor_system& system, CallBackDeps deps) {
  return system.spawn(
      [deps = std::move(deps)](CallBack::Self* self) { return self->state.start(self, deps); });
}

}  // namespace swarm::actors
