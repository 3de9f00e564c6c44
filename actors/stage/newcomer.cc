#include "actors/stage/newcomer.h"

#include <fmt/format.h>

#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <memory>

#include "actors/coordinator/coordinator_client.h"
#include "actors/net/link_rates.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/printable.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

class NewcomerState {
 public:
  static constexpr const char* name = "newcomer";
  using Self = caf::stateful_actor<NewcomerState>;

  caf::behavior start(Self* self, StageServerDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    install_default_handlers(self_);
    coordinator_ = std::make_unique<CoordinatorClient>(
        CoordinatorClientDeps{self_, deps_.links, deps_.dht, milliseconds(100),
                              [this] { register_peer(); }, deps_.dht_options.silent_after()});
    const auto me = caf::actor_cast<caf::actor>(self_);
    self_->send(deps_.links, register_atom::value, deps_.id.actor, me);
    self_->send(deps_.links, subscribe_atom::value, me);
    self_->send(self_, tick_atom::value);
    return {
        [](const Mail&) -> caf::result<Mail> {
          return to_caf(ErrorCode::kNotReady, "the peer waits for a stage");
        },
        [this](tick_atom) { on_tick(); },
        [](run_later_atom, const LocalTask& task) { task(); },
        [](node_up_atom, const NodeInfo&) {},
        [this](node_down_atom, const NodeInfo& info, const std::string&) {
          coordinator_->node_down(info.id);
        },
        [this](describe_atom) { return "waits for a stage: " + reason_; },
        [this](drain_atom) {
          leaves_ = true;
          return true;
        },
    };
  }

 private:
  void on_tick() {
    self_->delayed_send(self_, deps_.dht_options.announce_every, tick_atom::value);
    coordinator_->tick();
    self_->request(deps_.links, milliseconds(1'000), stats_atom::value)
        .then(
            [this](const LinksStats& stats) {
              rates_ = link_rates(stats);
              register_peer();
            },
            [](const caf::error&) {});  // the next timer asks again
  }

  void register_peer() {
    if (registering_ || leaves_ || !coordinator_->known()) return;
    proto::RegisterPeer message;
    *message.mutable_peer() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
    message.set_wants_stage(true);
    message.set_may_move(true);
    message.set_foreign_term(coordinator_->foreign_term().value());
    message.set_up_bytes_per_s(rates_.best_send);
    message.set_down_bytes_per_s(rates_.best_receive);
    registering_ = true;
    coordinator_->request(make_mail(std::move(message), {}, milliseconds(3'000)),
                          [this](const Result<Mail>& reply) { registered(reply); });
  }

  void registered(const Result<Mail>& reply) {
    registering_ = false;
    if (leaves_ || !reply || reply->kind != proto::KIND_REGISTER_PEER_REPLY) return;
    const auto& verdict = reply->as<proto::RegisterPeerReply>();
    if (!coordinator_->accept(Term(verdict.term()), std::nullopt)) return;
    reason_ = printable(verdict.reason(), kMaxReason);
    const bool moves = verdict.verdict() == proto::RegisterPeerReply::VERDICT_MOVE;
    if (!moves || verdict.move_to() >= deps_.num_stages) return;
    log_info(fmt::format("event=moved to={} order={}", verdict.move_to(), verdict.order()));
    deps_.move_to(Stage(verdict.move_to()));
    self_->quit(caf::exit_reason::user_shutdown);
  }

  Self* self_ = nullptr;
  StageServerDeps deps_;
  std::unique_ptr<CoordinatorClient> coordinator_;
  LinkRates rates_;
  std::string reason_ = "no coordinator has answered yet";
  bool registering_ = false, leaves_ = false;
};

caf::behavior newcomer(NewcomerState::Self* self, StageServerDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_newcomer(caf::actor_system& system, StageServerDeps deps) {
  return system.spawn(newcomer, std::move(deps));
}

}  // namespace swarm::actors
