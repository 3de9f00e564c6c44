// StageServer, life: registration, loading of state, announcements, leaving.
#include "actors/stage/stage_server.h"

#include <algorithm>
#include <caf/send.hpp>
#include <sstream>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/stage/stage_server_state.h"
#include "actors/state/checkpointer.h"
#include "swarm/dht.pb.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr const char* kOwnSnapshot = "own_snapshot";

const char* phase_name(int phase) {
  static const char* const kNames[] = {"starting", "registering", "loading", "serving", "draining"};
  return kNames[phase];
}

}  // namespace

void StageServerState::init(Self* self, StageServerDeps deps) {
  self_ = self;
  deps_ = std::move(deps);
  install_default_handlers(self_);
  if (asynchronous()) updater_ = std::make_shared<LocalUpdater>(deps_.training.local_update_every);
  coordinator_ = std::make_unique<CoordinatorClient>(
      CoordinatorClientDeps{self_, deps_.links, deps_.dht, milliseconds(100),
                            [this] { coordinator_changed(); }, deps_.dht_options.silent_after()});
  if (!is_last())
    next_stage_ = std::make_unique<StageClient>(StageClientDeps{
        self_, deps_.links, deps_.dht, deps_.events, deps_.stage + 1, deps_.num_stages,
        deps_.options.estimates, deps_.options.retry_every, deps_.dht_options.silent_after()});
  caf::actor me = caf::actor_cast<caf::actor>(self_);
  self_->send(deps_.links, register_atom::value, deps_.id.actor, me);
  self_->send(deps_.links, subscribe_atom::value, me);
  caf::anon_send(deps_.state_transfer, set_stage_atom::value, me);
  poll_snapshots();
  self_->request(deps_.compute, caf::infinite, compute_atom::value)
      .then(
          [this](uint64_t num_parameters) {
            num_parameters_ = num_parameters;
            set_phase(Phase::kRegistering, "the stage is made");
            on_tick();
          },
          [this](const caf::error& error) {
            record(records::PeerFailed{from_caf(error)});
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
      [this](freeze_atom) { return on_freeze(); },
      [this](describe_atom) { return describe(); },
      [this](drain_atom) { return on_drain(); },
  };
}

caf::result<Mail> StageServerState::on_mail(const Mail& mail) {
  switch (mail.kind) {
    case proto::KIND_FORWARD:
      return on_forward(mail);
    case proto::KIND_CANCEL_ATTEMPT:
      on_cancel(mail.as<proto::CancelAttempt>());
      return make_mail(proto::Ack());
    case proto::KIND_CLOSE_STEP:
      return on_close(mail);
    case proto::KIND_COMMIT_STEP:
      return on_commit(mail);
    case proto::KIND_END_PERIOD:
      return on_end_period(mail);
    case proto::KIND_SAVE_CHECKPOINT:
      return on_save(mail);
    case proto::KIND_RESTORE: {
      const auto& restore = mail.as<proto::Restore>();
      if (!coordinator_->accept(restore.term()))
        return to_caf(ErrorCode::kStaleTerm, "a newer coordinator rules");
      if (phase_ == Phase::kServing) set_phase(Phase::kRegistering, restore.reason());
      register_peer();
      return make_mail(proto::Ack());
    }
    default:
      return to_caf(ErrorCode::kInvalidArgument,
                    std::string("a stage server takes no ") + kind_name(mail.kind));
  }
}

void StageServerState::on_tick() {
  if (phase_ == Phase::kDraining || phase_ == Phase::kStarting) return;
  coordinator_->refresh();
  if (next_stage_) next_stage_->refresh();
  poll_bytes_sent();
  if (phase_ == Phase::kServing) announce();
  register_peer();
  // Nobody waits for microbatches whose budget is long used up.
  std::vector<Key> late;
  for (const auto& [key, resident] : residents_)
    if (resident.give_up_at + milliseconds(1'000) < now() &&
        resident.at != Resident::At::kComputing)
      late.push_back(key);
  for (const Key& key : late) answer(key, Error{ErrorCode::kPeerTimeout, "the budget is used up"});
  self_->delayed_send(self_, deps_.dht_options.announce_every, tick_atom::value);
}

void StageServerState::on_node_down(const NodeId& node) {
  coordinator_->node_down(node);
  if (next_stage_) next_stage_->node_down(node);
}

void StageServerState::set_phase(Phase phase, const std::string& reason) {
  if (phase == phase_) return;
  log_info("event=phase stage=" + std::to_string(deps_.stage) + " step=" + std::to_string(step_) +
           " from=" + phase_name(static_cast<int>(phase_)) +
           " to=" + phase_name(static_cast<int>(phase)) + " reason=" + reason);
  bool left_service = phase_ == Phase::kServing;
  phase_ = phase;
  if (!left_service) return;
  // An average in hand is kept: a new coordinator may have to finish the commit of the old one.
  if (!round_.result) abandon_round(reason);
  auto code = phase == Phase::kDraining ? ErrorCode::kShuttingDown : ErrorCode::kNotReady;
  drop_residents(~uint64_t{0}, {code, "the peer stopped serving: " + reason});
  if (phase == Phase::kRegistering) {
    record(records::Suspended{reason});
    register_peer();
  }
}

Error StageServerState::not_ready() const {
  if (phase_ == Phase::kDraining) return {ErrorCode::kShuttingDown, "the node leaves"};
  return {ErrorCode::kNotReady, std::string("the peer is ") + phase_name(static_cast<int>(phase_)),
          100};
}

/// With delayed updates: what the last close left, an update applied and a sum that is gone, means
/// nothing to another coordinator; SERVE then makes the peer collapse.
void StageServerState::coordinator_changed() {
  if (phase_ == Phase::kServing && !asynchronous() && computed_on_ != applied_)
    set_phase(Phase::kRegistering, "another coordinator");
  register_peer();
}

void StageServerState::register_peer() {
  bool may = phase_ == Phase::kRegistering || phase_ == Phase::kServing;
  if (!may || registering_ || committing_ || !coordinator_->known()) return;
  proto::RegisterPeer message;
  *message.mutable_peer() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
  message.set_stage(deps_.stage);
  message.set_has_state(has_state_);
  message.set_step(applied_);
  message.set_checksum(checksum_);
  message.set_swarm_peers(swarm_peers_);
  message.set_open_step(step_);
  message.set_foreign_term(coordinator_->foreign_term());
  for (uint64_t step : snapshots_)
    if (unreadable_.count(step) == 0) message.add_snapshots(step);
  for (const auto& [slot, attempt] : held_) {
    if (step_ != applied_ || computed_on_ != applied_) break;  // of no use to a new coordinator
    auto* held = message.add_held();
    held->set_slot(slot);
    held->set_attempt(attempt);
    if (auto loss = losses_.find({step_, slot}); loss != losses_.end()) {
      held->set_loss_sum(loss->second.sum);
      held->set_samples(loss->second.samples);
    }
  }
  message.set_has_average(round_.result.has_value());
  message.set_round(round_.id);
  message.set_last_gradient_norm(last_gradient_norm_);
  registering_ = true;
  registered_step_ = applied_;
  coordinator_->request(make_mail(std::move(message), {}, milliseconds(3'000)),
                        [this](Result<Mail> reply) { registered(std::move(reply)); });
}

void StageServerState::registered(Result<Mail> reply) {
  registering_ = false;
  if (!reply || reply->kind != proto::KIND_REGISTER_PEER_REPLY) return;  // the tick asks again
  const auto& verdict = reply->as<proto::RegisterPeerReply>();
  if (phase_ != Phase::kRegistering && phase_ != Phase::kServing) return;
  if (!coordinator_->accept(verdict.term()) || committing_) return;
  obey(verdict);
}

void StageServerState::obey(const proto::RegisterPeerReply& verdict) {
  using Reply = proto::RegisterPeerReply;
  switch (verdict.verdict()) {
    case Reply::VERDICT_SERVE:
      if (!has_state_) return;
      if (asynchronous()) {
        enter_period(verdict.open_step());
      } else {
        if (verdict.step() != applied_) return;  // overtaken by a commit
        bool ahead = phase_ != Phase::kServing && computed_on_ != applied_;
        if (verdict.open_step() != step_ || ahead) {
          if (phase_ == Phase::kServing || verdict.open_step() != applied_) return;
          collapse(verdict.reason());
        }
      }
      min_attempt_ = std::max(min_attempt_, verdict.min_attempt());
      swarm_peers_ = verdict.peers();
      if (!verdict.keep_held() && !held_.empty()) drop_gradient_sum("the coordinator says so");
      if (phase_ == Phase::kServing) return;
      // Snapshots newer than what the swarm agreed on belong to a history that was given up.
      caf::anon_send(deps_.checkpointer, forget_newer_atom::value, stream(), applied_);
      poll_snapshots();
      set_phase(Phase::kServing, verdict.reason());
      if (was_serving_)
        record(records::Resumed{verdict.reason()});
      else
        record(records::Joined{verdict.reason()});
      was_serving_ = true;
      return announce();
    case Reply::VERDICT_INITIALIZE:
      return initialize_stage();
    case Reply::VERDICT_RESTORE:
      return restore_own(verdict.step());
    case Reply::VERDICT_FETCH:
      if (applied_ != registered_step_) return;  // overtaken by a commit
      return fetch_state(verdict);
    case Reply::VERDICT_WAIT: {
      if (phase_ == Phase::kServing) set_phase(Phase::kRegistering, verdict.reason());
      auto pause = milliseconds(std::clamp<uint32_t>(verdict.retry_after_ms(), 20, 2'000));
      self_->delayed_send(self_, pause, run_later_atom::value,
                          LocalTask([this] { register_peer(); }));
      return;
    }
    default:
      return;
  }
}

void StageServerState::initialize_stage() {
  set_phase(Phase::kLoading, "a fresh run");
  compute<uint64_t>(
      self_, deps_.compute,
      [updater = updater_](tensor::Stage& stage) -> Result<uint64_t> {
        if (updater) updater->clear();
        stage.initialize();
        return stage.checksum();
      },
      [this](Result<uint64_t> checksum, double) {
        has_state_ = checksum.ok();
        if (checksum) checksum_ = *checksum;
        step_ = applied_ = computed_on_ = 0;
        if (checksum) note_loaded("seed");
        held_.clear();
        round_.result.reset();
        ++sum_epoch_;
        if (checksum)
          record(records::Initialized{});
        else
          record(records::LoadFailed{"seed", checksum.error()});
        auto go_on = [this](const Status&) {
          set_phase(Phase::kRegistering, "initialised from the seed");
          register_peer();
        };
        // No step is begun before its stage can come back to it: were all its peers killed before
        // their first snapshot, the others could never go on.
        if (checksum)
          save_snapshot(go_on);
        else
          go_on(checksum.error());
      });
}

void StageServerState::restore_own(uint64_t step) {
  set_phase(Phase::kLoading, "own snapshot of step " + std::to_string(step));
  self_->request(deps_.checkpointer, caf::infinite, load_atom::value, stream(), step)
      .then(
          [this](const Buffer& state) {
            load(state, {kOwnSnapshot, {}});
          },
          [this, step](const caf::error& error) {
            record(records::LoadFailed{kOwnSnapshot, from_caf(error)});
            unreadable_.insert(step);  // fall back to an older one or a neighbour
            set_phase(Phase::kRegistering, "the snapshot could not be read");
            register_peer();
          });
}

void StageServerState::fetch_state(const proto::RegisterPeerReply& verdict) {
  FetchState fetch;
  fetch.stage = deps_.stage;
  fetch.max_bytes = tensor::max_state_bytes(deps_.optimizer.kind, num_parameters_);
  std::vector<PeerAddress> sources;
  for (const auto& source : verdict.sources()) {
    auto peer = from_proto(source);
    if (peer && peer->id != deps_.id) sources.push_back(*peer);
  }
  if (sources.empty()) return;
  for (const auto& source : sources)
    fetch.sources.push_back({beside(source.id, Role::kState), source.endpoint});
  if (verdict.exact()) fetch.exact_step = verdict.step();
  set_phase(Phase::kLoading, "fetching the state: " + verdict.reason());
  self_->request(deps_.state_transfer, caf::infinite, fetch_atom::value, std::move(fetch))
      .then(
          [this, wanted = verdict.step()](const FetchedState& fetched) {
            if (fetched.step < wanted) {  // the neighbours are about to apply the update
              set_phase(Phase::kRegistering, "the neighbours are not yet there");
              return self_->delayed_send(self_, milliseconds(50), run_later_atom::value,
                                         LocalTask([this] { register_peer(); }));
            }
            load(fetched.state, {fetched.source, records::seconds_as_millis(fetched.seconds)});
          },
          [this](const caf::error& error) {
            record(records::LoadFailed{"neighbours", from_caf(error)});
            set_phase(Phase::kRegistering, "the neighbours could not supply the state");
            self_->delayed_send(self_, milliseconds(200), run_later_atom::value,
                                LocalTask([this] { register_peer(); }));
          });
}

void StageServerState::load(const Buffer& state, const records::Restored& how) {
  using Loaded = std::pair<uint64_t, uint64_t>;  // step, checksum
  compute<Loaded>(
      self_, deps_.compute,
      [state, updater = updater_](tensor::Stage& stage) -> Result<Loaded> {
        if (updater) updater->clear();
        auto loaded = stage.load_state(state);
        if (!loaded) return loaded.error();
        stage.clear_gradients();
        return Loaded{stage.step(), stage.checksum()};
      },
      [this, how](Result<Loaded> loaded, double) {
        if (loaded) {
          has_state_ = true;
          std::tie(applied_, checksum_) = *loaded;
          step_ = computed_on_ = applied_;
          held_.clear();
          forget_answers();
          ++sum_epoch_;
          round_.result.reset();
          // What is stored under its number may be an earlier state of the period.
          if (asynchronous() && how.source != kOwnSnapshot) unreadable_.insert(applied_);
          record(how);
          note_loaded(how.source);
        } else {
          record(records::LoadFailed{how.source, loaded.error()});
        }
        set_phase(Phase::kRegistering, "the state is loaded");
        register_peer();
      });
}

void StageServerState::note_loaded(const std::string& source) {
  deps_.events->loaded({deps_.stage, deps_.id, deps_.node_name, applied_, checksum_, source});
}

void StageServerState::announce() {
  proto::PeerRecord peer;
  peer.set_node_id(deps_.id.node.raw());
  peer.set_actor(deps_.id.actor);
  peer.set_endpoint(deps_.endpoint.text());
  peer.set_node_name(deps_.node_name);
  peer.set_stage(deps_.stage);
  peer.set_step(step_);
  peer.set_load_s(static_cast<float>(mean_compute_s_ * static_cast<double>(residents_.size())));
  DhtRecordLocal record;
  record.subkey = deps_.id.brief();
  record.value = peer.SerializeAsString();
  record.version = ++announcements_;
  record.ttl = deps_.dht_options.announce_ttl;
  self_->request(deps_.dht, milliseconds(10'000), dht_store_atom::value, stream(), record)
      .then([] {},
            [](const caf::error& error) {
              log_debug("event=announce_failed reason=" + to_string(from_caf(error)));
            });
}

void StageServerState::poll_snapshots() {
  self_->request(deps_.checkpointer, caf::infinite, list_atom::value, stream())
      .then(
          [this](const std::vector<uint64_t>& steps) { snapshots_ = steps; },
          [this](const caf::error& error) { record(records::CheckpointFailed{from_caf(error)}); });
}

void StageServerState::poll_bytes_sent() {
  self_->request(deps_.links, milliseconds(1'000), stats_atom::value)
      .then([this](const LinksStats& stats) { bytes_sent_ = stats.bytes_sent; },
            [](const caf::error&) {});
}

caf::result<bool> StageServerState::on_drain() {
  if (phase_ == Phase::kDraining) return true;
  bool save = has_state_;
  set_phase(Phase::kDraining, "the node leaves");
  auto promise = self_->make_response_promise();
  if (!save) {
    promise.deliver(true);
    return promise;
  }
  save_snapshot([promise](Status) mutable { promise.deliver(true); });
  return promise;
}

double StageServerState::since(TimePoint start) const {
  return std::chrono::duration<double>(now() - start).count();
}

StageServerState::TimePoint StageServerState::now() const { return self_->clock().now(); }

std::string StageServerState::describe() const {
  std::ostringstream text;
  text << "stage server " << deps_.id.brief() << " of " << deps_.node_name << "\n"
       << "stage " << deps_.stage << " of " << deps_.num_stages << ", step " << step_
       << ", updates applied " << applied_ << ", " << phase_name(static_cast<int>(phase_))
       << ", parameters " << num_parameters_ << ", checksum " << std::hex << checksum_ << std::dec
       << "\n"
       << "resident " << residents_.size() << " of " << deps_.options.max_resident
       << ", queued forward " << forward_queue_.size() << " backward " << backward_queue_.size()
       << ", computing " << (computing_ ? "yes" : "no") << "\n"
       << "forwards " << forwards_ << ", refused " << refused_ << ", stale " << stale_
       << ", seconds per microbatch " << mean_compute_s_ << "\n"
       << "slots held " << held_.size() << ", round " << round_.id
       << (round_.result ? " averaged" : "") << ", snapshots";
  for (uint64_t step : snapshots_) text << " " << step;
  text << "\ncoordinator "
       << (coordinator_->known() ? coordinator_->id().brief() : std::string("not known"))
       << " term " << coordinator_->term() << "\n";
  if (asynchronous()) text << describe_updates();
  if (next_stage_) text << next_stage_->describe();
  return text.str();
}

caf::actor spawn_stage_server(caf::actor_system& system, StageServerDeps deps) {
  return system.spawn([deps = std::move(deps)](StageServerState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors
