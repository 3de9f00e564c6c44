/// What the Links actors of sockets and of the memory network share: handlers of mail, proxies and
/// delivery to local actors. `Self` is a caf::event_based_actor or a caf::io::broker.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/message_handler.hpp>
#include <caf/send.hpp>
#include <functional>
#include <optional>

#include "actors/net/errors.h"
#include "actors/net/links/links_core.h"

namespace swarm::actors::links {

using mail_atom = caf::atom_constant<caf::atom("mail")>;
using tick_atom = caf::atom_constant<caf::atom("linktick")>;
using budget_atom = caf::atom_constant<caf::atom("linkbudget")>;
using due_atom = caf::atom_constant<caf::atom("linkdue")>;

/// Stands for one remote actor: passes Mail on to Links together with the wish for an answer, which
/// then goes straight to the requester. Holds nothing but its address.
caf::behavior proxy(caf::event_based_actor* self, caf::actor links, ActorId id);

/// For ReceiveBudget: wakes the Links actor from any thread; harmless when it is gone.
std::function<void()> budget_waker(const caf::actor_addr& links);

/// The parts of LinksHost that need only the actor, not the network.
template <class Self>
class ActorHost : public LinksHost {
 public:
  explicit ActorHost(Self* self) : self_(self) {}

  TimePoint now() override { return self_->clock().now(); }

  void deliver(ConnId conn, uint64_t id, const caf::actor& target, const Mail& mail) override {
    const auto request =
        self_->request(target, std::max(mail.budget, std::chrono::milliseconds(1)), mail);
    // CAF keeps the timeout of what is answered until it has passed, and the other side chose it.
    const auto over = [this, mid = request.id()] {
      self_->clock().cancel_request_timeout(self_, mid);
    };
    request.then(
        [this, conn, id, over](const Mail& reply) {
          over();
          if (id != 0) core_->answered(conn, id, reply);
        },
        [this, conn, id, over](const caf::error& error) {
          over();
          const Error why = from_caf(error);
          if (id != 0 || why.code == ErrorCode::kRefused)  // of what went one way a refusal is told
            core_->answered(conn, id, Result<Mail>(why));
        });
  }

  caf::actor make_proxy(const ActorId& id) override {
    return self_->system().spawn(proxy, caf::actor_cast<caf::actor>(self_), id);
  }

  void call_at(TimePoint when) override {
    if (call_at_ && *call_at_ <= when) return;
    call_at_ = when;
    self_->scheduled_send(self_, when, due_atom::value);
  }
  /// A call that was asked for. One that an earlier one has replaced does nothing.
  void called() {
    if (!call_at_ || now() < *call_at_) return;
    call_at_.reset();
    core_->carry_due();
  }

  void tell_unreached(const caf::actor& call_back, const NodeId& node) override {
    self_->send(call_back, unreached_atom::value, node);
  }
  void tell_up(const caf::actor& subscriber, const NodeInfo& node) override {
    self_->send(subscriber, node_up_atom::value, node);
  }
  void tell_down(const caf::actor& subscriber, const NodeInfo& node,
                 const std::string& reason) override {
    self_->send(subscriber, node_down_atom::value, node, reason);
  }

  void attach(LinksCore* core) { core_ = core; }
  LinksCore& core() { return *core_; }

 protected:
  Self* self_;
  LinksCore* core_ = nullptr;  // owns this host's work; same lifetime
  std::optional<TimePoint> call_at_;
};

/// Mail of actors/net/links/links.h plus the proxies' and the timer's. Requires self->state.core.
template <class Self>
caf::message_handler links_handlers(Self* self, LinksCore* core) {
  self->set_down_handler([core](const caf::down_msg& down) { core->local().forget(down.source); });
  self->set_exit_handler([self, core](const caf::exit_msg& exit) {
    core->shut_down();
    self->quit(exit.reason);
  });
  self->set_default_handler(caf::drop);
  self->send(self, tick_atom::value);
  return caf::message_handler{
      [self, core](register_atom, const std::string& name, const caf::actor& actor) {
        self->monitor(actor);
        core->local().add(name, actor);
      },
      [core](admission_atom, const std::string& name, const AdmissionPtr& admission) {
        core->local().admit(name, admission);
      },
      [core](resolve_atom, const ActorId& id, const Endpoint& endpoint) {
        return core->resolve(id, endpoint);
      },
      [self, core](resolve_atom, const Endpoint& endpoint, const std::string& actor) {
        core->connect(endpoint, [core, actor, promise = self->make_response_promise()](
                                    const Result<NodeInfo>& node) mutable {
          if (!node) return fail(promise, node.error());
          promise.deliver(core->resolve({node->id, actor}, {}));
        });
      },
      [self, core](connect_atom, const Endpoint& endpoint) {
        core->connect(endpoint, [promise = self->make_response_promise()](
                                    const Result<NodeInfo>& node) mutable {
          node ? promise.deliver(*node) : fail(promise, node.error());
        });
      },
      [self, core](subscribe_atom, const caf::actor& subscriber) {
        self->monitor(subscriber);
        core->subscribe(subscriber);
      },
      [core](unreached_atom, const NodeId& node) { core->unreached(node); },
      [core](stats_atom) { return core->stats(); },
      [core](cut_atom, const NodeId& node) { core->cut(node); },
      [core](shape_atom, const ShapeOptions& shape) { core->reshape(shape); },
      [self, core](mail_atom, const ActorId& to, const Mail& mail) {
        core->send(to, mail, self->make_response_promise());
      },
      [core](budget_atom) { core->budget_released(); },
  };
}

}  // namespace swarm::actors::links
