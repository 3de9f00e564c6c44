// Coordinator: life, election, leases, status.
#include "actors/coordinator/coordinator.h"

#include <algorithm>
#include <sstream>

#include "actors/coordinator/coordinator_state.h"
#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "common/names.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

/// A trainer waits this long for a slot before it is told to ask again.
constexpr milliseconds kLeaseWait{1'000};
/// A fresh node listens this long for others before it takes over a swarm that it sees empty.
constexpr milliseconds kElectionPatience{1'500};

const char* phase_name(int phase) {
  static const char* const kNames[] = {"standby", "gathering", "open", "finished"};
  return kNames[phase];
}

}  // namespace

void CoordinatorState::init(Self* self, CoordinatorDeps deps) {
  self_ = self;
  deps_ = std::move(deps);
  install_default_handlers(self_);
  started_at_ = now();
  // Above whatever an earlier life of this actor published: records of higher versions win.
  publications_ = static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(started_at_.time_since_epoch()).count());
  caf::actor me = caf::actor_cast<caf::actor>(self_);
  self_->send(deps_.links, register_atom::value, deps_.id.actor, me);
  self_->send(deps_.links, subscribe_atom::value, me);
  self_->send(self_, tick_atom::value);
}

caf::behavior CoordinatorState::make_behavior() {
  return {
      [this](const Mail& mail) { return on_mail(mail); },
      [this](tick_atom) { on_tick(); },
      [](run_later_atom, const LocalTask& task) { task(); },
      [this](node_up_atom, const NodeInfo& info) { dead_.erase(info.id); },
      [this](node_down_atom, const NodeInfo& info, const std::string&) { on_node_down(info); },
      [this](describe_atom) { return describe(); },
  };
}

caf::result<Mail> CoordinatorState::on_mail(const Mail& mail) {
  if (phase_ == Phase::kStandby)
    return to_caf(Error{ErrorCode::kNotReady, "this node's coordinator stands by", 100});
  switch (mail.kind) {
    case proto::KIND_REGISTER_PEER:
      return on_register(mail);
    case proto::KIND_LEASE:
      return on_lease(mail);
    case proto::KIND_SLOT_DONE:
      return on_slot_done(mail);
    case proto::KIND_SWARM_STATUS:
      return make_mail(status());
    case proto::KIND_SAVE_CHECKPOINT:
      return on_save();
    default:
      return to_caf(ErrorCode::kInvalidArgument,
                    std::string("a coordinator takes no ") + kind_name(mail.kind));
  }
}

void CoordinatorState::on_tick() {
  self_->delayed_send(self_, deps_.options.tick, tick_atom::value);
  hold_election();
  if (phase_ == Phase::kStandby) return;
  expire_waiting_leases();
  if (phase_ == Phase::kGathering) try_to_plan();
  if (phase_ != Phase::kOpen) return;
  for (routing::StepLedger* ledger : ledgers())
    for (const auto& lease : ledger->expire(now_s())) record(records::LeaseExpired{lease.slot});
  judge_all();
  if (phase_ != Phase::kOpen) return;
  serve_waiting_leases();
  advance();  // a peer that came back with what it holds may have filled its stage
}

void CoordinatorState::on_node_down(const NodeInfo& info) {
  if (candidates_.erase(info.id) != 0) {  // it is dialled again while its record lives
    dead_.insert(info.id);
    if (leader_ == info.id) leader_.reset();
    hold_election();
  }
  if (phase_ == Phase::kStandby) return;
  std::vector<PeerId> gone;
  for (const auto& [id, peer] : peers_)
    if (id.node == info.id) gone.push_back(id);
  waiting_leases_.erase(
      std::remove_if(waiting_leases_.begin(), waiting_leases_.end(),
                     [&](const WaitingLease& w) { return w.trainer.node == info.id; }),
      waiting_leases_.end());
  for (auto it = trainers_.begin(); it != trainers_.end();) {
    bool lost = it->first.node == info.id;
    if (lost) {
      size_t leases = 0;
      for (routing::StepLedger* ledger : ledgers()) leases += ledger->trainer_lost(it->first);
      record(records::TrainerLost{info.name, leases});
    }
    it = lost ? trainers_.erase(it) : std::next(it);
  }
  for (const PeerId& id : gone) peer_gone(id, "the link to " + info.name + " is lost");
  serve_waiting_leases();
}

// -- election

void CoordinatorState::publish_record() {
  last_published_at_ = now();
  proto::CoordinatorRecord message;
  message.set_node_id(deps_.id.node.raw());
  message.set_actor(deps_.id.actor);
  message.set_endpoint(deps_.endpoint.text());
  message.set_node_name(deps_.node_name);
  message.set_term(term_);
  message.set_active(phase_ != Phase::kStandby);
  DhtRecordLocal record;
  record.subkey = deps_.id.node.hex();
  record.value = message.SerializeAsString();
  record.version = ++publications_;
  record.ttl = deps_.dht_options.announce_ttl;
  self_
      ->request(deps_.dht, milliseconds(10'000), dht_store_atom::value,
                std::string(kCoordinatorKey), record)
      .then([] {}, [](const caf::error&) {});
}

void CoordinatorState::hold_election() {
  auto pause = leader_ ? milliseconds(500) : milliseconds(0);
  if (asking_dht_ || now() - last_election_at_ < pause) return;
  asking_dht_ = true;
  last_election_at_ = now();
  if (now() - last_published_at_ >= deps_.dht_options.announce_every) publish_record();
  self_->request(deps_.dht, milliseconds(5'000), dht_get_atom::value, std::string(kCoordinatorKey))
      .then(
          [this](const std::vector<DhtRecordLocal>& found) {
            asking_dht_ = false;
            std::vector<routing::Candidate> candidates;
            for (const auto& record : found) {
              proto::CoordinatorRecord one;
              if (!one.ParseFromString(record.value)) continue;
              auto node = NodeId::from_bytes(one.node_id());
              auto endpoint = Endpoint::parse(one.endpoint());
              if (!node || !endpoint) continue;
              candidates.push_back({*node, one.term(), one.active()});
              bool is_new = candidates_.emplace(*node, *endpoint).second;
              // A link to every candidate, so that its death is noticed at once.
              if (is_new && *node != deps_.id.node)
                self_->request(deps_.links, milliseconds(5'000), connect_atom::value, *endpoint)
                    .then([](const NodeInfo&) {},
                          [this, node = *node](const caf::error&) {
                            dead_.insert(node);
                            candidates_.erase(node);
                          });
            }
            decide_election(candidates);
          },
          [this](const caf::error&) { asking_dht_ = false; });
}

void CoordinatorState::decide_election(const std::vector<routing::Candidate>& candidates) {
  using Kind = routing::ElectionDecision::Kind;
  bool active = phase_ != Phase::kStandby;
  auto decision = routing::elect({deps_.id.node, term_, active}, candidates, dead_);
  if (!active)
    term_ = std::max(term_, decision.kind == Kind::kTakeOver ? decision.term - 1 : decision.term);
  switch (decision.kind) {
    case Kind::kFollow:
      leader_ = decision.leader;
      return;
    case Kind::kStepDown:
      return step_down(decision.reason);
    case Kind::kTakeOver:
      // A newcomer first learns who is there; a standby whose leader died does not wait.
      if (dead_.empty() && now() - started_at_ < kElectionPatience) return;
      return take_over(decision.term);
    default:
      return;
  }
}

void CoordinatorState::take_over(uint64_t term) {
  term_ = term;
  gatherings_ = 0;
  leader_ = deps_.id.node;
  record(records::CoordinatorActive{term_});
  log_info("event=takes_over term=" + std::to_string(term_));
  phase_ = Phase::kGathering;
  applied_before_.reset();
  publish_record();
  start_gathering("a new coordinator, term " + std::to_string(term_));
}

void CoordinatorState::step_down(const std::string& reason) {
  log_warn("event=steps_down term=" + std::to_string(term_) + " reason=" + reason);
  record(records::SteppedDown{reason});
  for (auto& waiting : waiting_leases_)
    waiting.promise.deliver(to_caf(ErrorCode::kNotReady, reason));
  waiting_leases_.clear();
  peers_.clear();
  trainers_.clear();
  ledger_.reset();
  ahead_.clear();
  stages_.clear();
  pending_.reset();
  plan_.reset();
  phase_ = Phase::kStandby;
}

// -- leases

caf::result<Mail> CoordinatorState::on_lease(const Mail& mail) {
  const auto& message = mail.as<proto::Lease>();
  auto trainer = from_proto(message.trainer());
  if (!trainer) return to_caf(trainer.error());
  auto [it, is_new] = trainers_.try_emplace(trainer->id);
  if (is_new) record(records::TrainerJoined{trainer->node_name});
  it->second.assign(message.bytes_sent().begin(), message.bytes_sent().end());
  end_older_leases(trainer->id);
  auto promise = self_->make_response_promise();
  uint32_t max_slots = std::min<uint32_t>(message.max_slots(), 64);
  waiting_leases_.push_back({trainer->id, max_slots, now() + kLeaseWait, promise});
  serve_waiting_leases();
  return promise;
}

/// A node has one trainer, which waits for one lease. What was leased to the actor before it (it
/// failed and was started again, the link stayed up) is free; what it asked for before is void.
void CoordinatorState::end_older_leases(const ActorId& trainer) {
  for (auto it = trainers_.begin(); it != trainers_.end();) {
    const bool before = it->first.node == trainer.node && it->first != trainer;
    if (before)
      for (routing::StepLedger* ledger : ledgers()) ledger->trainer_lost(it->first);
    it = before ? trainers_.erase(it) : std::next(it);
  }
  for (auto it = waiting_leases_.begin(); it != waiting_leases_.end();) {
    const bool before = it->trainer.node == trainer.node;
    if (before) it->promise.deliver(lease_reply({step_, nullptr, {}}));
    it = before ? waiting_leases_.erase(it) : std::next(it);
  }
}

Mail CoordinatorState::lease_reply(const Leases& leases) const {
  proto::LeaseReply reply;
  reply.set_term(term_);
  reply.set_step(leases.step);
  reply.set_finished(over_);
  for (const auto& lease : leases.slots) {
    auto* slot = reply.add_slots();
    slot->set_slot(lease.slot);
    slot->set_attempt(lease.attempt);
    slot->set_needs(lease.needs);
    slot->set_validation(lease.validation);
    for (const auto& hop : leases.ledger->avoid(lease.slot)) {
      auto* avoid = slot->add_avoid();
      avoid->set_stage(hop.stage);
      *avoid->mutable_peer() = to_proto(hop.peer, Endpoint{}, "");
    }
  }
  return make_mail(std::move(reply));
}

void CoordinatorState::serve_waiting_leases() {
  if (phase_ != Phase::kOpen) return;
  double deadline_s = now_s() + static_cast<double>(deps_.options.lease_limit.count()) / 1000.0;
  while (!waiting_leases_.empty()) {
    WaitingLease& first = waiting_leases_.front();
    auto leases = next_leases(first, deadline_s);
    if (leases.slots.empty()) return;
    first.promise.deliver(lease_reply(leases));
    waiting_leases_.pop_front();
  }
}

CoordinatorState::Leases CoordinatorState::next_leases(const WaitingLease& waiting,
                                                       double deadline_s) {
  auto of = [&](uint64_t step, routing::StepLedger* ledger) {
    return Leases{step, ledger, ledger->lease(waiting.trainer, waiting.max_slots, deadline_s)};
  };
  Leases leases;
  if (ledger_) leases = of(step_, ledger_.get());
  for (auto it = ahead_.begin(); leases.slots.empty() && it != ahead_.end(); ++it)
    leases = of(it->step, it->ledger.get());
  if (!leases.slots.empty() || !asynchronous()) return leases;
  size_t before = ahead_.size();
  open_next_period();
  return ahead_.size() > before ? of(ahead_.back().step, ahead_.back().ledger.get()) : leases;
}

void CoordinatorState::expire_waiting_leases() {
  while (!waiting_leases_.empty() && (over_ || waiting_leases_.front().give_up_at <= now())) {
    waiting_leases_.front().promise.deliver(lease_reply({step_, nullptr, {}}));
    waiting_leases_.pop_front();
  }
}

caf::result<Mail> CoordinatorState::on_slot_done(const Mail& mail) {
  const auto& message = mail.as<proto::SlotDone>();
  routing::StepLedger* ledger = phase_ == Phase::kOpen ? ledger_of(message.step()) : nullptr;
  if (ledger == nullptr)
    return to_caf(phase_ == Phase::kOpen && message.step() > step_ ? ErrorCode::kNotReady
                                                                   : ErrorCode::kStaleStep,
                  "step " + std::to_string(step_) + " is " + phase_name(static_cast<int>(phase_)));
  auto taken = message.failed() ? slot_failed(message, *ledger) : slot_carried(message, *ledger);
  if (!taken) return to_caf(taken.error());
  advance();
  serve_waiting_leases();
  return make_mail(proto::Ack());
}

Status CoordinatorState::slot_carried(const proto::SlotDone& message, routing::StepLedger& ledger) {
  std::vector<routing::LedgerHop> route;
  for (const auto& hop : message.route()) {
    auto peer = from_proto(hop.peer());
    if (!peer) return peer.error();
    // Who is not registered cannot be told what counts: its share is computed again.
    auto known = peers_.find(peer->id);
    bool serves = known != peers_.end() && known->second.serving;
    bool counts = hop.held() && (serves || asynchronous());
    route.push_back({hop.stage(), peer->id, counts, hop.attempt()});
  }
  return ledger.done(message.slot(), message.attempt(), route, message.loss_sum(),
                     message.samples());
}

Status CoordinatorState::slot_failed(const proto::SlotDone& message, routing::StepLedger& ledger) {
  if (!message.has_non_finite()) {
    record(records::AttemptFailed{message.slot(), message.error()});
    ledger.failed(message.slot(), message.attempt());
    return {};
  }
  const auto& hop = message.non_finite();
  auto peer = from_proto(hop.peer());
  if (!peer) return peer.error();
  using Verdict = routing::NonFiniteVerdict;
  auto verdict = ledger.non_finite(message.slot(), message.attempt(), {hop.stage(), peer->id});
  if (verdict == Verdict::kIgnored || verdict == Verdict::kRetry) return {};
  record(records::SlotSkipped{message.slot(), peer->node_name});
  log_warn("event=slot_skipped step=" + std::to_string(step_) +
           " slot=" + std::to_string(message.slot()) + " peer=" + peer->node_name);
  // Rounds under way or done count it; what they averaged is not applied by anybody.
  for (uint32_t stage = 0; stage < deps_.num_stages && !asynchronous(); ++stage)
    unwind_round(stage);
  return {};
}

caf::result<Mail> CoordinatorState::on_save() {
  auto serves = [](const auto& entry) { return entry.second.serving; };
  if (std::none_of(peers_.begin(), peers_.end(), serves))
    return to_caf(ErrorCode::kNotReady, "no peer serves: there is nothing to save");
  auto promise = self_->make_response_promise();
  auto left = std::make_shared<size_t>(1);
  auto failure = std::make_shared<std::optional<Error>>();
  auto one_done = [promise, left, failure](Result<Mail> reply) mutable {
    if (!reply) *failure = reply.error();
    if (--*left > 0) return;
    if (*failure)
      promise.deliver(to_caf(**failure));
    else
      promise.deliver(make_mail(proto::Ack()));
  };
  for (const auto& [id, peer] : peers_) {
    if (!peer.serving || !peer.proxy) continue;
    ++*left;
    request_mail(self_, peer.proxy, make_mail(proto::SaveCheckpoint(), {}, milliseconds(60'000)),
                 one_done);
  }
  one_done(make_mail(proto::Ack()));
  return promise;
}

// -- status

proto::SwarmStatusReply CoordinatorState::status() const {
  proto::SwarmStatusReply reply;
  reply.set_term(term_);
  reply.set_step(step_);
  reply.set_phase(phase_name(static_cast<int>(phase_)) +
                  (phase_ == Phase::kGathering ? ": " + waiting_for_ : std::string()));
  reply.set_last_loss(last_loss_);
  reply.set_tokens_per_s(tokens_per_second_);
  reply.set_max_steps(deps_.training.steps);
  *reply.mutable_coordinator() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
  if (ledger_) {
    reply.set_slots_total(deps_.training.batch / deps_.training.microbatch);
    reply.set_slots_leased(ledger_->slots_leased());
    reply.set_slots_done(ledger_->slots_done());
  }
  for (const auto& [id, peer] : peers_) {
    auto* one = reply.add_peers();
    *one->mutable_peer() = to_proto(id, peer.address.endpoint, peer.address.node_name);
    one->set_stage(peer.stage);
    one->set_step(peer.step);
    one->set_checksum(peer.checksum);
    one->set_checksum_step(peer.checksum_step);
  }
  return reply;
}

std::string CoordinatorState::describe() const {
  std::ostringstream text;
  text << "coordinator " << deps_.id.brief() << " of " << deps_.node_name << ": "
       << phase_name(static_cast<int>(phase_)) << ", term " << term_ << ", step " << step_ << "\n";
  if (phase_ == Phase::kGathering)
    text << "gathering because " << gathering_reason_ << "; " << waiting_for_ << "\n";
  text << "peers " << peers_.size() << ", trainers " << trainers_.size() << ", leases waiting "
       << waiting_leases_.size() << "\n";
  if (ledger_)
    text << "slots leased " << ledger_->slots_leased() << ", done " << ledger_->slots_done()
         << ", attempts " << ledger_->attempts() << "\n";
  static const char* const kAt[] = {"filling", "averaging", "averaged"};
  if (pending_) text << "step " << pending_->step << " is averaged meanwhile\n";
  for (size_t k = 0; k < stages_.size(); ++k)
    text << "stage " << k << ": " << kAt[static_cast<int>(stages_[k].at)] << ", round "
         << stages_[k].round << "\n";
  return text.str();
}

double CoordinatorState::since(TimePoint start) const {
  return std::chrono::duration<double>(now() - start).count();
}

CoordinatorState::TimePoint CoordinatorState::now() const { return self_->clock().now(); }

double CoordinatorState::now_s() const {
  return std::chrono::duration<double>(now().time_since_epoch()).count();
}

std::string CoordinatorState::name_of(const PeerId& id) const {
  const auto peer = peers_.find(id);
  return peer == peers_.end() ? id.brief() : peer->second.address.node_name;
}

caf::actor spawn_coordinator(caf::actor_system& system, CoordinatorDeps deps) {
  return system.spawn([deps = std::move(deps)](CoordinatorState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors
