#include "actors/node/call_back.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <map>
#include <utility>

#include "actors/dht/dht_node.h"
#include "actors/net/links/links.h"
#include "actors/net/links/socket.h"
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
    return {[this](unreached_atom, const NodeId& wanted) { ask_for(wanted); },
            [this](const Mail& mail) {
              if (mail.kind == proto::KIND_CALL_ME) on_call(mail);
            }};
  }

 private:
  using TimePoint = caf::actor_clock::time_point;
  using Pair = std::pair<NodeId, NodeId>;  ///< (wanted, caller)

  /// What was done lately, so that nothing is done twice or without end.
  class Lately {
   public:
    explicit Lately(size_t most) : most_(most) {}
    /// Whether this was not done lately, and not too much for the same caller; from now on it was.
    bool is_due(const Pair& pair, TimePoint now, milliseconds pause) {
      size_t of_caller = 0;
      for (auto it = done_.begin(); it != done_.end();) {
        of_caller += it->first.second == pair.second ? 1 : 0;
        it = now - it->second >= pause ? done_.erase(it) : std::next(it);
      }
      return done_.size() < most_ && of_caller < kMaxWishes && done_.emplace(pair, now).second;
    }

   private:
    size_t most_;
    std::map<Pair, TimePoint> done_;
  };

  /// The nodes asked for, each after twice the time of before: those that are gone are asked for again
  /// and again and must not take the places of one that can be called back.
  class Wishes {
   public:
    bool is_due(const NodeId& wanted, TimePoint now, milliseconds pause) {
      size_t lately = 0;
      for (auto it = asked_.begin(); it != asked_.end();) {
        const auto since = now - it->second.last;
        lately += since < pause ? 1 : 0;
        it = since >= 4 * kLongest * pause ? asked_.erase(it) : std::next(it);
      }
      const auto it = asked_.find(wanted);
      const bool rested = it == asked_.end() || now - it->second.last >= it->second.rest * pause;
      return rested && lately < kMaxWishes;
    }
    void asked(const NodeId& wanted, TimePoint now) {
      auto [it, first] = asked_.try_emplace(wanted, Asked{now, 1});
      if (!first) it->second = {now, std::min(2 * it->second.rest, kLongest)};
    }

   private:
    static constexpr int kLongest = 16;  // pauses
    struct Asked {
      TimePoint last{};
      int rest = 1;  // pauses
    };
    std::map<NodeId, Asked> asked_;
  };

  TimePoint now() const { return self_->clock().now(); }

  void on_call(const Mail& mail) {
    const auto& call = mail.as<proto::CallMe>();
    const auto wanted = NodeId::from_bytes(call.node_id());
    const auto caller = NodeId::from_bytes(call.caller_id());
    if (!wanted || !caller || *caller == deps_.self) return;
    const Pair pair{*wanted, *caller};
    if (*wanted == deps_.self) {
      dial(pair, call.endpoint());
    } else if (!call.passed_on() && speaks_for(mail, *caller) &&
               passed_on_.is_due(pair, now(), deps_.pause)) {
      pass_on(*wanted, call);
    }
  }

  void ask_for(const NodeId& wanted) {
    if (deps_.endpoint.port == 0 || !wishes_.is_due(wanted, now(), deps_.pause)) return;
    with_links([this, wanted](const std::vector<NodeId>& linked) {
      if (!linked.empty() && wishes_.is_due(wanted, now(), deps_.pause)) ask_for(wanted, linked);
    });
  }

  void ask_for(const NodeId& wanted, std::vector<NodeId> linked) {
    wishes_.asked(wanted, now());
    std::sort(linked.begin(), linked.end(), [&wanted](const NodeId& a, const NodeId& b) {
      return routing::xor_distance(a, wanted) < routing::xor_distance(b, wanted);
    });
    linked.erase(std::unique(linked.begin(), linked.end()), linked.end());
    linked.resize(std::min(linked.size(), kAskedToPassOn));
    proto::CallMe call;
    call.set_node_id(wanted.raw());
    call.set_caller_id(deps_.self.raw());
    call.set_endpoint(deps_.endpoint.text());
    const Mail mail = make_mail(std::move(call));
    for (const auto& node : linked)
      if (node != wanted) tell(node, mail);
  }

  void pass_on(const NodeId& wanted, proto::CallMe call) {
    call.set_passed_on(true);
    with_links(
        [this, wanted, mail = make_mail(std::move(call))](const std::vector<NodeId>& linked) {
          if (std::find(linked.begin(), linked.end(), wanted) != linked.end()) tell(wanted, mail);
        });
  }

  /// Wishes go over links that there are: a dial that fails would make a wish, and that another dial.
  template <class Then>
  void with_links(Then then) {
    self_->request(deps_.links, kLocal, stats_atom::value)
        .then(
            [then = std::move(then)](const LinksStats& stats) {
              std::vector<NodeId> linked;
              for (const auto& link : stats.links)
                if (!link.node.is_tool) linked.push_back(link.node.id);
              then(linked);
            },
            [](const caf::error&) {});
  }

  void tell(const NodeId& node, const Mail& mail) {
    self_
        ->request(deps_.links, kLocal, resolve_atom::value, ActorId{node, kCallBackName},
                  Endpoint{})
        .then([mail](const caf::actor& proxy) { caf::anon_send(proxy, mail); },
              [](const caf::error&) {});
  }

  /// Where the DHT says that the caller is; where it says itself if the DHT knows nothing of it. Callers
  /// can be invented: those that are not known take no places of those that are.
  void dial(const Pair& pair, const std::string& said) {
    const auto unknown = [this, pair, said = links::told_endpoint(said)] {
      if (said && unknown_.is_due(pair, now(), deps_.pause)) dial(*said);
    };
    if (asking_ >= kMaxAsking) return;
    ++asking_;
    self_->request(deps_.dht, kLocal, dht_status_atom::value)
        .then(
            [this, pair, unknown](const DhtStatus& status) {
              --asking_;
              for (const auto& contact : status.contacts) {
                if (contact.id != pair.second) continue;
                if (dialled_.is_due(pair, now(), deps_.pause)) dial(contact.endpoint);
                return;
              }
              unknown();
            },
            [this, unknown](const caf::error&) {
              --asking_;
              unknown();
            });
  }

  void dial(const Endpoint& endpoint) {
    log_info("event=calls_back endpoint=" + endpoint.text());
    self_->request(deps_.links, kLocal, connect_atom::value, endpoint)
        .then([](const NodeInfo&) {}, [](const caf::error&) {});
  }

  Self* self_ = nullptr;
  CallBackDeps deps_;
  size_t asking_ = 0;
  Wishes wishes_;
  Lately passed_on_{kMaxCallBacks}, dialled_{kMaxCallBacks}, unknown_{kMaxUnknown};
};

}  // namespace

caf::actor spawn_call_back(caf::actor_system& system, CallBackDeps deps) {
  return system.spawn(
      [deps = std::move(deps)](CallBack::Self* self) { return self->state.start(self, deps); });
}

}  // namespace swarm::actors
