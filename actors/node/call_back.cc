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
    return {[this](unreached_atom, const NodeId& wanted) {
              if (asked_.is_due({wanted, deps_.self}, now(), deps_.pause)) ask_for(wanted);
            },
            [this](const Mail& mail) {
              if (mail.kind == proto::KIND_CALL_ME) on_call(mail.as<proto::CallMe>());
            }};
  }

 private:
  using TimePoint = caf::actor_clock::time_point;
  using Pair = std::pair<NodeId, NodeId>;  ///< (wanted, caller)

  /// What was done lately, so that nothing is done twice or without end.
  class Lately {
   public:
    explicit Lately(size_t most) : most_(most) {}
    /// Whether this was not done lately; from now on it was.
    bool is_due(const Pair& pair, TimePoint now, milliseconds pause) {
      for (auto it = done_.begin(); it != done_.end();)
        it = now - it->second >= pause ? done_.erase(it) : std::next(it);
      return done_.size() < most_ && done_.emplace(pair, now).second;
    }

   private:
    size_t most_;
    std::map<Pair, TimePoint> done_;
  };

  TimePoint now() const { return self_->clock().now(); }

  void on_call(const proto::CallMe& call) {
    const auto wanted = NodeId::from_bytes(call.node_id());
    const auto caller = NodeId::from_bytes(call.caller_id());
    if (!wanted || !caller || *caller == deps_.self) return;
    const Pair pair{*wanted, *caller};
    if (*wanted == deps_.self) {
      if (dialled_.is_due(pair, now(), deps_.pause)) dial(*caller, call.endpoint());
    } else if (!call.passed_on() && passed_on_.is_due(pair, now(), deps_.pause)) {
      pass_on(*wanted, call);
    }
  }

  void ask_for(const NodeId& wanted) {
    if (deps_.endpoint.port == 0) return;
    self_->request(deps_.links, kLocal, stats_atom::value)
        .then([this, wanted](const LinksStats& stats) { ask_for(wanted, stats.links); },
              [](const caf::error&) {});
  }

  void ask_for(const NodeId& wanted, const std::vector<LinkStats>& links) {
    std::vector<NodeId> linked;
    for (const auto& link : links)
      if (!link.node.is_tool && link.node.id != wanted) linked.push_back(link.node.id);
    std::sort(linked.begin(), linked.end(), [&wanted](const NodeId& a, const NodeId& b) {
      return routing::xor_distance(a, wanted) < routing::xor_distance(b, wanted);
    });
    linked.resize(std::min(linked.size(), kAskedToPassOn));
    proto::CallMe call;
    call.set_node_id(wanted.raw());
    call.set_caller_id(deps_.self.raw());
    call.set_endpoint(deps_.endpoint.text());
    const Mail mail = make_mail(std::move(call));
    for (const auto& node : linked) tell(node, mail);
  }

  void pass_on(const NodeId& wanted, proto::CallMe call) {
    call.set_passed_on(true);
    tell(wanted, make_mail(std::move(call)));
  }

  /// Without an address: over a link that there is, or not at all. A dial that fails would make a wish,
  /// and that another dial.
  void tell(const NodeId& node, const Mail& mail) {
    self_
        ->request(deps_.links, kLocal, resolve_atom::value, ActorId{node, kCallBackName},
                  Endpoint{})
        .then([mail](const caf::actor& proxy) { caf::anon_send(proxy, mail); },
              [](const caf::error&) {});
  }

  /// Where the DHT says that the caller is; where it says itself if the DHT knows nothing of it.
  void dial(const NodeId& caller, const std::string& said) {
    const auto parsed = Endpoint::parse(said);
    self_->request(deps_.dht, kLocal, dht_status_atom::value)
        .then(
            [this, caller, parsed](const DhtStatus& status) {
              for (const auto& contact : status.contacts)
                if (contact.id == caller) return dial(contact.endpoint);
              if (parsed) dial(*parsed);
            },
            [](const caf::error&) {});
  }

  void dial(const Endpoint& endpoint) {
    log_info("event=calls_back endpoint=" + endpoint.text());
    self_->request(deps_.links, kLocal, connect_atom::value, endpoint)
        .then([](const NodeInfo&) {}, [](const caf::error&) {});
  }

  Self* self_ = nullptr;
  CallBackDeps deps_;
  Lately asked_{kMaxWishes}, passed_on_{kMaxCallBacks}, dialled_{kMaxCallBacks};
};

}  // namespace

caf::actor spawn_call_back(caf::actor_system& system, CallBackDeps deps) {
  return system.spawn(
      [deps = std::move(deps)](CallBack::Self* self) { return self->state.start(self, deps); });
}

}  // namespace swarm::actors
