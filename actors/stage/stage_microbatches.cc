// StageServer, microbatches: arrival, queueing, forward, the way down, backward, the answer.
#include <algorithm>

#include "actors/net/local.h"
#include "actors/stage/stage_server_state.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

// Replies kept for repeats: of the open step only, the oldest go first.
constexpr size_t kAnswersKept = 1'024;
constexpr uint64_t kAnswerBytesKept = 64u << 20;
/// Asynchronous mode: (period, slot) remembered, so that a repeat makes no second update.
constexpr size_t kTakenKept = 4'096;

tensor::MicrobatchKey key_of(const proto::ForwardRequest& head) {
  return {head.step(), head.slot(), head.attempt()};
}

}  // namespace

Status StageServerState::check(const proto::ForwardRequest& head) const {
  auto bad = [](std::string detail) { return Error{ErrorCode::kShapeMismatch, std::move(detail)}; };
  if (head.stage() != deps_.stage)
    return Error{ErrorCode::kInvalidArgument, "this peer serves stage " +
                                                  std::to_string(deps_.stage) + ", not " +
                                                  std::to_string(head.stage())};
  if (head.samples() == 0 || head.samples() > deps_.options.max_samples)
    return bad("samples must be 1 to " + std::to_string(deps_.options.max_samples));
  if (head.sequence() != static_cast<uint32_t>(deps_.sequence))
    return bad("the sequence has " + std::to_string(deps_.sequence) + " tokens, not " +
               std::to_string(head.sequence()));
  const auto& training = deps_.training;
  const uint64_t slots =
      (uint64_t{training.batch} + training.validation_samples) / training.microbatch;
  if (head.slot() >= slots)
    return bad("a step has " + std::to_string(slots) + " slots, validation included");
  uint64_t tokens = uint64_t{head.samples()} * (head.sequence() + 1) * 4;
  if (head.tokens().size() != tokens)
    return bad("tokens have " + std::to_string(head.tokens().size()) + " bytes, not " +
               std::to_string(tokens));
  return {};
}

caf::result<Mail> StageServerState::on_forward(const Mail& mail) {
  const auto& head = mail.as<proto::ForwardRequest>();
  if (phase_ != Phase::kServing) return to_caf(not_ready());
  if (auto valid = check(head); !valid) return to_caf(valid.error());
  const uint64_t oldest = asynchronous() && step_ > kOpenPeriods ? step_ - kOpenPeriods : 0;
  if (head.step() < (asynchronous() ? oldest : step_)) {
    ++stale_;
    return to_caf(ErrorCode::kStaleStep, "the peer is at step " + std::to_string(step_));
  }
  // Serial numbers: terms are many, the number of an attempt wraps round.
  if (head.attempt() < min_attempt_) {
    ++stale_;
    return to_caf(ErrorCode::kStaleStep, "the attempt was leased before the swarm gathered");
  }
  // The next step's microbatches may overtake the commit message; they wait in the queue.
  bool may_be_next = round_.result || deps_.training.delayed_updates;
  uint64_t newest = asynchronous() ? step_ + 2 * kOpenPeriods : step_ + (may_be_next ? 1 : 0);
  if (head.step() > newest)
    return to_caf(
        Error{ErrorCode::kNotReady, "the peer is behind, at step " + std::to_string(step_), 20});
  Key key = key_of(head);
  for (const auto& [old, reply] : answered_)
    if (!(old < key) && !(key < old)) return reply;
  auto promise = self_->make_response_promise();
  auto known = residents_.find(key);
  if (known != residents_.end()) {
    known->second.promises.push_back(promise);
    return promise;
  }
  if (residents_.size() >= deps_.options.max_resident) {
    ++refused_;
    double wait_s = std::clamp(mean_compute_s_, 0.01, 1.0);
    promise.deliver(to_caf(Error{ErrorCode::kOverloaded, "all places are taken",
                                 static_cast<uint32_t>(wait_s * 1000)}));
    return promise;
  }
  Resident resident;
  resident.request = mail;
  resident.promises.push_back(promise);
  resident.give_up_at = now() + mail.budget;
  residents_.emplace(key, std::move(resident));
  forward_queue_.push_back(key);
  ++forwards_;
  pump();
  return promise;
}

/// The queues may hold keys of microbatches that were answered meanwhile, and that may have come
/// again since: those have a place in a queue of their own.
bool StageServerState::is_at(const Key& key, Resident::At at) const {
  auto resident = residents_.find(key);
  return resident != residents_.end() && resident->second.at == at;
}

void StageServerState::pump() {
  if (computing_ || committing_ || stalled_) return;
  while (!backward_queue_.empty()) {
    Key key = backward_queue_.front();
    backward_queue_.pop_front();
    if (is_at(key, Resident::At::kBackwardQueue)) return run_backward(key);
  }
  for (auto it = forward_queue_.begin(); it != forward_queue_.end();) {
    Key key = *it;
    auto resident = residents_.find(key);
    bool early = !asynchronous() && key.step > step_;
    if (resident != residents_.end() && early) {  // waits for the commit
      ++it;
      continue;
    }
    it = forward_queue_.erase(it);
    if (!is_at(key, Resident::At::kForwardQueue)) continue;
    return is_last() ? run_last_stage(key) : run_forward(key);
  }
}

tensor::StageInput StageServerState::stage_input(const Mail& mail) const {
  const auto& head = mail.as<proto::ForwardRequest>();
  tensor::StageInput input;
  input.samples = head.samples();
  input.sequence = head.sequence();
  input.tokens = Buffer(mail.head, head.tokens().data(), head.tokens().size());
  if (deps_.stage > 0) input.activations = {head.activations(), mail.body};
  return input;
}

bool StageServerState::decide_accumulate(const proto::ForwardRequest& head) {
  bool needed = ((head.needs() >> deps_.stage) & 1) != 0 && !head.forward_only();
  if (!needed || held_attempt(key_of(head))) return false;
  if (asynchronous()) {
    taken_[{head.step(), head.slot()}] = head.attempt();
    // Of periods that on_forward() refuses; the others may be asked for again.
    while (taken_.size() > kTakenKept && taken_.begin()->first.first + kOpenPeriods < step_)
      taken_.erase(taken_.begin());
    return step_ < deps_.training.steps;  // replicas stay equal after the last averaging
  }
  held_[head.slot()] = head.attempt();
  std::string fault = std::to_string(head.step()) + ":" + std::to_string(head.slot());
  return deps_.faults.drop_gradient != fault;
}

/// The attempt by which this peer's sum (or an update, in asynchronous mode) holds the slot.
std::optional<uint64_t> StageServerState::held_attempt(const Key& key) const {
  if (asynchronous()) {
    auto taken = taken_.find({key.step, key.slot});
    return taken == taken_.end() ? std::nullopt : std::optional<uint64_t>(taken->second);
  }
  auto held = held_.find(key.slot);
  return held == held_.end() ? std::nullopt : std::optional<uint64_t>(held->second);
}

void StageServerState::forget_held(const Key& key) {
  if (asynchronous())
    taken_.erase({key.step, key.slot});
  else
    held_.erase(key.slot);
}

void StageServerState::run_forward(const Key& key) {
  Resident& resident = residents_.at(key);
  const auto& head = resident.request.as<proto::ForwardRequest>();
  resident.at = Resident::At::kComputing;
  resident.kept = !head.forward_only();
  computing_ = true;
  auto work = [key, input = stage_input(resident.request),
               only = head.forward_only()](tensor::Stage& stage) -> Result<Outcome> {
    auto activations = stage.forward(key, input, only);
    if (!activations) return activations.error();
    return Outcome{std::move(*activations), 0, {}};
  };
  compute<Outcome>(
      self_, deps_.compute, std::move(work),
      [this, key](Result<Outcome> outcome, double seconds) {
        forward_done(key, std::move(outcome), seconds);
      },
      /*passes=*/1);
}

void StageServerState::forward_done(const Key& key, Result<Outcome> outcome, double seconds) {
  computing_ = false;
  auto it = residents_.find(key);
  if (it != residents_.end()) {
    it->second.compute_s += seconds;
    if (!outcome) {
      it->second.kept = false;
      answer_error(key, outcome.error());
    } else if (it->second.cancelled) {
      answer(key, Error{ErrorCode::kCancelled, "the sender gave it up"});
    } else {
      send_downstream(key, outcome->tensor);
    }
  }
  pump();
}

void StageServerState::send_downstream(const Key& key, const tensor::EncodedTensor& activations) {
  Resident& resident = residents_.at(key);
  resident.at = Resident::At::kDownstream;
  proto::ForwardRequest head = resident.request.as<proto::ForwardRequest>();
  *head.mutable_activations() = activations.meta;
  auto left =
      std::chrono::duration_cast<milliseconds>(resident.give_up_at - now()) - milliseconds(50);
  const uint64_t sending =
      next_stage_->send(std::move(head), activations.data, std::max(left, milliseconds(1)),
                        [this, key](Result<StageClient::Outcome> outcome) {
                          gradient_back(key, std::move(outcome));
                        });
  // Where no time was left it has failed at once, and the resident is gone.
  if (auto it = residents_.find(key); it != residents_.end()) it->second.sending = sending;
}

void StageServerState::gradient_back(const Key& key, Result<StageClient::Outcome> outcome) {
  auto it = residents_.find(key);
  if (it == residents_.end()) return;
  it->second.sending = 0;
  if (!outcome) return answer(key, outcome.error());
  it->second.downstream = outcome->reply;
  const auto& reply = outcome->reply.as<proto::ForwardReply>();
  if (reply.has_non_finite()) return answer_non_finite(key, reply.non_finite());
  const auto& head = it->second.request.as<proto::ForwardRequest>();
  if (head.forward_only())
    return answer(key, make_reply(it->second, reply.loss_sum(), {}, /*held=*/false));
  it->second.at = Resident::At::kBackwardQueue;
  backward_queue_.push_back(key);
  pump();
}

void StageServerState::run_backward(const Key& key) {
  Resident& resident = residents_.at(key);
  const auto& head = resident.request.as<proto::ForwardRequest>();
  const auto& reply = resident.downstream.as<proto::ForwardReply>();
  resident.at = Resident::At::kComputing;
  resident.kept = false;  // backward forgets the key, whatever comes of it
  computing_ = true;
  bool accumulate = decide_accumulate(head);
  auto work = [key, accumulate, fault = injected_non_finite(key), updater = updater_,
               samples = head.samples(),
               gradient = tensor::EncodedTensor{reply.gradient(), resident.downstream.body}](
                  tensor::Stage& stage) -> Result<Outcome> {
    if (fault) {
      stage.drop(key);
      return Error{ErrorCode::kNonFinite, "faults.non_finite"};
    }
    uint64_t forward = stage.updates_at_forward(key).value_or(stage.updates());
    auto back = stage.backward(key, gradient, accumulate);
    if (!back) return back.error();
    Outcome outcome{std::move(*back), 0, {}};
    if (updater && accumulate) outcome.updates = updater->added(stage, samples, forward, key.step);
    return outcome;
  };
  compute<Outcome>(
      self_, deps_.compute, std::move(work),
      [this, key, accumulate, epoch = sum_epoch_](Result<Outcome> outcome, double s) {
        backward_done(key, accumulate, epoch, std::move(outcome), s);
      },
      /*passes=*/1);
}

void StageServerState::run_last_stage(const Key& key) {
  Resident& resident = residents_.at(key);
  const auto& head = resident.request.as<proto::ForwardRequest>();
  resident.at = Resident::At::kComputing;
  computing_ = true;
  bool accumulate = decide_accumulate(head);
  auto work = [key, accumulate, input = stage_input(resident.request), updater = updater_,
               fault = injected_non_finite(key),
               only = head.forward_only()](tensor::Stage& stage) -> Result<Outcome> {
    if (fault) return Error{ErrorCode::kNonFinite, "faults.non_finite"};
    uint64_t forward = stage.updates();
    auto loss = stage.forward_backward(key, input, accumulate, only);
    if (!loss) return loss.error();
    Outcome outcome{std::move(loss->gradient), loss->loss_sum, {}};
    if (updater && accumulate)
      outcome.updates = updater->added(stage, input.samples, forward, key.step);
    return outcome;
  };
  compute<Outcome>(
      self_, deps_.compute, std::move(work),
      [this, key, accumulate, epoch = sum_epoch_](Result<Outcome> outcome, double s) {
        backward_done(key, accumulate, epoch, std::move(outcome), s);
      },
      /*passes=*/head.forward_only() ? 1 : 2);
}

void StageServerState::backward_done(const Key& key, bool accumulated, uint64_t sum_epoch,
                                     Result<Outcome> outcome, double seconds) {
  computing_ = false;
  bool sum_is_the_same = sum_epoch == sum_epoch_ && (asynchronous() || key.step == step_);
  bool entered = held_attempt(key) == key.attempt;
  if (!outcome && sum_is_the_same && entered && accumulated) forget_held(key);
  if (outcome) note_updates(outcome->updates);
  auto it = residents_.find(key);
  if (it != residents_.end()) {
    Resident& resident = it->second;
    resident.compute_s += seconds;
    mean_compute_s_ += 0.2 * (resident.compute_s - mean_compute_s_);
    if (!outcome) {
      answer_error(key, outcome.error());
    } else {
      bool held = sum_is_the_same && held_attempt(key).has_value();
      double loss =
          is_last() ? outcome->loss_sum : resident.downstream.as<proto::ForwardReply>().loss_sum();
      if (is_last() && held) remember_loss(key, loss);
      answer(key, make_reply(resident, loss, outcome->tensor, held));
    }
  }
  pump();
}

/// For a new coordinator: what the old one was told is gone with it.
void StageServerState::remember_loss(const Key& key, double loss_sum) {
  losses_.erase(losses_.begin(), losses_.lower_bound({key.step, 0}));
  uint32_t samples = residents_.at(key).request.as<proto::ForwardRequest>().samples();
  losses_[{key.step, key.slot}] = {loss_sum, samples};
}

Mail StageServerState::make_reply(const Resident& resident, double loss_sum,
                                  const tensor::EncodedTensor& gradient, bool held) const {
  const auto& head = resident.request.as<proto::ForwardRequest>();
  proto::ForwardReply reply;
  reply.set_step(head.step());
  reply.set_slot(head.slot());
  reply.set_attempt(head.attempt());
  reply.set_loss_sum(loss_sum);
  auto* hop = reply.add_route();
  hop->set_stage(deps_.stage);
  *hop->mutable_peer() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
  hop->set_held(held);
  if (held) hop->set_attempt(held_attempt(key_of(head)).value_or(0));
  if (resident.downstream.head)
    for (const auto& later : resident.downstream.as<proto::ForwardReply>().route())
      *reply.add_route() = later;
  reply.set_compute_s(static_cast<float>(resident.compute_s));
  if (!gradient.empty()) *reply.mutable_gradient() = gradient.meta;
  return make_mail(std::move(reply), gradient.data);
}

void StageServerState::answer(const Key& key, Result<Mail> reply) {
  auto node = residents_.extract(key);
  if (node.empty()) return;
  Resident& resident = node.mapped();
  if (resident.kept)
    compute<bool>(
        self_, deps_.compute,
        [key](tensor::Stage& stage) -> Result<bool> {
          stage.drop(key);
          return true;
        },
        [](Result<bool>, double) {});
  if (resident.sending != 0) next_stage_->cancel(resident.sending);
  for (auto& promise : resident.promises) {
    if (reply)
      promise.deliver(*reply);
    else
      promise.deliver(to_caf(reply.error()));
  }
  if (reply) remember(key, *reply);
}

void StageServerState::remember(const Key& key, const Mail& reply) {
  answered_.emplace_back(key, reply);
  answered_bytes_ += reply.body.size();
  while (answered_.size() > kAnswersKept ||
         (answered_bytes_ > kAnswerBytesKept && answered_.size() > 1)) {
    answered_bytes_ -= answered_.front().second.body.size();
    answered_.pop_front();
  }
}

void StageServerState::forget_answers() {
  answered_.clear();
  answered_bytes_ = 0;
}

/// What is not finite here is no fault of this peer's link or life: it goes back as a reply that
/// names the place, and the coordinator decides.
void StageServerState::answer_error(const Key& key, const Error& error) {
  if (error.code != ErrorCode::kNonFinite) return answer(key, error);
  record(records::NonFinite{key.slot, key.attempt, error.detail});
  proto::RouteHop here;
  here.set_stage(deps_.stage);
  *here.mutable_peer() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
  answer_non_finite(key, here);
}

void StageServerState::answer_non_finite(const Key& key, const proto::RouteHop& where) {
  auto it = residents_.find(key);
  if (it == residents_.end()) return;
  proto::ForwardReply reply;
  reply.set_step(key.step);
  reply.set_slot(key.slot);
  reply.set_attempt(key.attempt);
  reply.set_compute_s(static_cast<float>(it->second.compute_s));
  *reply.mutable_non_finite() = where;
  answer(key, make_mail(std::move(reply)));
}

bool StageServerState::injected_non_finite(const Key& key) const {
  const std::string& fault = deps_.faults.non_finite;
  return !fault.empty() && fault == std::to_string(key.step) + ":" + std::to_string(key.slot) +
                                        ":" + std::to_string(deps_.stage);
}

void StageServerState::on_cancel(const proto::CancelAttempt& message) {
  Key key{message.step(), message.slot(), message.attempt()};
  auto it = residents_.find(key);
  if (it == residents_.end()) return;
  if (it->second.at == Resident::At::kComputing)
    it->second.cancelled = true;  // what runs is finished; what follows is not begun
  else
    answer(key, Error{ErrorCode::kCancelled, "the sender gave it up"});
}

void StageServerState::drop_residents(uint64_t before_step, const Error& error) {
  std::vector<Key> gone;
  for (const auto& [key, resident] : residents_)
    if (key.step < before_step) gone.push_back(key);
  for (const Key& key : gone) answer(key, error);
}

}  // namespace swarm::actors
