// StageServer, life: mail, phases, announcements, leaving.
#include "actors/stage/stage_server.h"

#include <fmt/format.h>

#include <caf/send.hpp>
#include <sstream>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/stage/stage_server_state.h"
#include "common/printable.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

using std::chrono::milliseconds;

namespace {

/// Takes them from the links when they answer; the next timer asks again.
void poll_bytes_sent(caf::event_based_actor* self, StageContext& context) {
  self->request(context.deps.links, milliseconds(1'000), stats_atom::value)
      .then(
          [&context](const LinksStats& stats) {
            context.bytes_sent = stats.bytes_sent;
            context.rates = link_rates(stats);
          },
          [](const caf::error&) {});
}

}  // namespace

void StageServerState::init(Self* self, StageServerDeps deps) {
  self_ = self;
  install_default_handlers(self_);
  context_.emplace(self_, this, std::move(deps));
  const auto& d = context_->deps;
  context_->coordinator = std::make_unique<CoordinatorClient>(
      CoordinatorClientDeps{self_, d.links, d.dht, milliseconds(100),
                            [this] { coordinator_changed(); }, d.dht_options.silent_after()});
  caf::actor me = caf::actor_cast<caf::actor>(self_);
  self_->send(d.links, register_atom::value, d.id.actor, me);
  updates_ = make_stage_updates(*context_);
  microbatches_.emplace(*context_, *updates_);
  keeper_.emplace(*context_, *updates_, [this](const std::string& reason, milliseconds pause) {
    loading_is_over(reason, pause);
  });
  mover_.emplace(*context_, *updates_, *microbatches_, [this] {
    if (context_->phase.serves()) announce();
  });
  copies_.emplace(*context_, keeper_->writer());
  leaver_.emplace(*context_, *updates_, *keeper_, *copies_);
  self_->send(d.links, subscribe_atom::value, me);
  caf::anon_send(d.state_transfer, set_stage_atom::value, me);
  keeper_->writer().list();
  copies_->list();
  leaver_->list();
  make_stage();
}

void StageServerState::make_stage() {
  self_->request(context_->deps.compute, context_->deps.options.device_limit, compute_atom::value)
      .then(
          [this](uint64_t num_parameters) {
            context_->num_parameters = num_parameters;
            keeper_->take_from_mirror([this] {
              enter(At::kRegistering, "the stage is made");
              on_tick();
            });
          },
          [this](const caf::error& error) {
            context_->record(records::PeerFailed{from_caf(error)});
            self_->quit(error);
          });
}

caf::behavior StageServerState::make_behavior() {
  return {
      [this](const Mail& mail) { return on_mail(mail); },
      [this](tick_atom) { on_tick(); },
      [](run_later_atom, const LocalTask& task) { task(); },
      [](node_up_atom, const NodeInfo&) {},
      [this](node_down_atom, const NodeInfo& info, const std::string&) { on_node_down(info.id); },
      [this](freeze_atom) { return keeper_->freeze(); },
      [this](range_atom, uint64_t first, uint64_t count) { return keeper_->range(first, count); },
      [this](spoiled_atom, uint32_t stage, uint64_t step) {
        copies_->spoiled(Stage(stage), Step(step));
      },
      [this](describe_atom) { return describe(); },
      [this](drain_atom) { return on_drain(); },
  };
}

caf::result<Mail> StageServerState::on_mail(const Mail& mail) {
  switch (mail.kind) {
    case proto::KIND_FORWARD:
      return microbatches_->on_forward(mail);
    case proto::KIND_CANCEL_ATTEMPT:
      microbatches_->on_cancel(mail);
      return make_mail(proto::Ack());
    case proto::KIND_CLOSE_STEP:
    case proto::KIND_COMMIT_STEP:
    case proto::KIND_END_PERIOD:
      return updates_->on_mail(mail);
    case proto::KIND_SAVE_CHECKPOINT:
      return on_save(mail);
    case proto::KIND_RESTORE:
      return on_restore(mail);
    default:
      return to_caf(ErrorCode::kInvalidArgument,
                    std::string("a stage server takes no ") + kind_name(mail.kind));
  }
}

caf::result<Mail> StageServerState::on_restore(const Mail& mail) {
  const auto& message = mail.as<proto::Restore>();
  if (auto ruled = context_->accept(Term(message.term()), mail.from); !ruled)
    return to_caf(ruled.error());
  stop_serving(printable(message.reason(), kMaxReason));
  register_peer();
  return make_mail(proto::Ack());
}

caf::result<Mail> StageServerState::on_save(const Mail& mail) {
  const auto& coordinator = *context_->coordinator;
  if (coordinator.known())  // else nobody can have told this peer to serve
    if (auto ruled = speaks_for(mail, coordinator.id().node); !ruled) return to_caf(ruled.error());
  if (!context_->at.has_state) return to_caf(context_->phase.refusal());
  const auto& message = mail.as<proto::SaveCheckpoint>();
  if (message.has_keep()) keep_snapshot(coordinator.term(), keep_step_of(message.keep()));
  auto promise = self_->make_response_promise();
  keeper_->save([promise](const Status& saved) mutable {
    if (saved)
      promise.deliver(make_mail(proto::Ack()));
    else
      promise.deliver(to_caf(saved.error()));
  });
  return promise;
}

void StageServerState::on_tick() {
  const auto& deps = context_->deps;
  self_->delayed_send(self_, deps.dht_options.announce_every, tick_atom::value);
  if (context_->device.longest_wait() > deps.options.device_limit) {
    const Error hangs{ErrorCode::kPeerTimeout, "a job of the stage does not end"};
    context_->record(records::PeerFailed{hangs});
    return self_->quit(to_caf(hangs));
  }
  if (context_->phase.leaves()) return;
  context_->coordinator->tick();
  if (auto* next = microbatches_->next_stage()) next->tick();
  poll_bytes_sent(self_, *context_);
  if (context_->phase.serves()) announce();
  register_peer();
  microbatches_->end_late_ones();
}

void StageServerState::on_node_down(const NodeId& node) {
  context_->coordinator->node_down(node);
  if (auto* next = microbatches_->next_stage()) next->node_down(node);
}

// -- phases

void StageServerState::enter(At to, const std::string& reason) {
  const At from = context_->phase.at();
  if (context_->phase.enter(to)) left(from, reason);
}

/// The phase has changed.
void StageServerState::left(At from, const std::string& reason) {
  const auto& phase = context_->phase;
  log_info(fmt::format("event=phase stage={} step={} from={} to={} reason={}", context_->deps.stage,
                       context_->at.open_step, routing::PeerPhase::name(from), phase.name(),
                       reason));
  microbatches_->update_admission();
  if (from == At::kLearning) keeper_->stop_learning();
  if (phase.leaves() || phase.at() == At::kLoading || phase.learns()) mover_->stop();
  if (from != At::kServing) return;
  updates_->stop(reason);
  microbatches_->end_before(Step(~uint64_t{0}),
                            {phase.refusal().code, "the peer stopped serving: " + reason});
  if (phase.at() != At::kRegistering) return;
  context_->record(records::Suspended{reason});
  log_warn(fmt::format("event=suspended stage={} reason=\"{}\"", context_->deps.stage, reason));
  register_peer();
  // What a node of another stage copied may lie there since it was looked.
  keeper_->writer().list();
}

void StageServerState::stop_serving(const std::string& reason) {
  if (context_->phase.serves()) enter(At::kRegistering, reason);
}

void StageServerState::end_learning(const std::string& reason) {
  if (context_->phase.learns()) enter(At::kRegistering, reason);
}

void StageServerState::loading_is_over(const std::string& reason, milliseconds pause) {
  enter(At::kRegistering, reason);
  if (pause.count() > 0)
    register_later(pause);
  else
    register_peer();
}

void StageServerState::keep_snapshot(Term speaker, const KeepStep& keep) {
  keeper_->writer().keep(speaker, keep);
}

void StageServerState::save_snapshot() {
  keeper_->save([](const Status&) {});
}

void StageServerState::end_steps_before(Step step, const Error& error) {
  microbatches_->forget_answers();
  microbatches_->end_before(step, error);
}

caf::result<bool> StageServerState::on_drain() {
  auto promise = self_->make_response_promise();
  leaving_.push_back(promise);
  if (context_->phase.serves()) {
    const milliseconds limit = context_->deps.drain_limit;
    mover_->leave(std::max(limit / 2, limit - keeper_->leave_limit()), [this] { leave_stage(); });
  } else if (!context_->move.leaves()) {
    leave_stage();
  }
  return promise;
}

void StageServerState::leave_stage() {
  using Leaving = routing::PeerPhase::Leaving;
  const At from = context_->phase.at();
  const auto leaving = context_->phase.leave(context_->at.has_state);
  if (from != At::kDraining) left(from, "the node leaves");
  auto saved = [this] {
    context_->phase.saved();
    for (auto& waiting : std::exchange(leaving_, {})) waiting.deliver(durable_);
  };
  if (leaving == Leaving::kGone) return saved();
  if (leaving == Leaving::kWait) return;
  durable_ = false;
  keeper_->save([this, saved](const Status& status) {
    durable_ = status.ok();
    keeper_->mirrored(saved);
  });
  self_->delayed_send(self_, keeper_->leave_limit(), run_later_atom::value, LocalTask(saved));
}

// -- what others hear

/// Who moves or leaves takes its word back: an empty record.
void StageServerState::announce() {
  const auto& deps = context_->deps;
  proto::PeerRecord peer;
  peer.set_node_id(deps.id.node.raw());
  peer.set_actor(deps.id.actor);
  peer.set_endpoint(deps.endpoint.text());
  peer.set_node_name(deps.node_name);
  peer.set_stage(deps.stage.value());
  peer.set_step(context_->at.open_step.value());
  peer.set_load_s(static_cast<float>(microbatches_->load_s()));
  DhtRecordLocal record;
  record.subkey = subkey_of(deps.id);
  if (!context_->move.under_way()) record.value = peer.SerializeAsString();
  record.version = ++announcements_;
  record.ttl = deps.dht_options.announce_ttl;
  self_->request(deps.dht, milliseconds(10'000), dht_store_atom::value, context_->stream(), record)
      .then([] {},
            [](const caf::error& error) {
              log_debug("event=announce_failed reason=" + to_string(from_caf(error)));
            });
}

std::string StageServerState::describe() const {
  const auto& deps = context_->deps;
  const auto& coordinator = *context_->coordinator;
  std::ostringstream text;
  text << "stage server " << deps.id.brief() << " of " << deps.node_name << "\n"
       << "stage " << deps.stage << " of " << deps.num_stages << ", step " << context_->at.open_step
       << ", updates applied " << context_->at.applied << ", " << context_->phase.name()
       << (context_->move.leaves() ? ", leaves"
           : context_->move.under_way()
               ? fmt::format(", moves to stage {}", context_->move.order().to)
               : std::string())
       << ", parameters " << context_->num_parameters << ", checksum " << std::hex
       << context_->checksum << std::dec << "\n"
       << updates_->describe() << ", " << keeper_->writer().describe();
  if (context_->phase.learns()) text << "\n" << keeper_->learner().describe();
  if (const std::string copies = copies_->describe(); !copies.empty()) text << "\n" << copies;
  if (const std::string aside = leaver_->describe(); !aside.empty()) text << "\n" << aside;
  text << "\ncoordinator "
       << (coordinator.known() ? coordinator.id().brief() : std::string("not known")) << " term "
       << coordinator.term() << "\n"
       << microbatches_->describe();
  return text.str();
}

caf::actor spawn_stage_server(caf::actor_system& system, StageServerDeps deps) {
  return system.spawn([deps = std::move(deps)](StageServerState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors
