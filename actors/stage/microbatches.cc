#include "actors/stage/microbatches.h"

#include <algorithm>
#include <sstream>

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

// Replies kept for repeats: of the open step only.
constexpr size_t kAnswersKept = 1'024;
constexpr uint64_t kAnswerBytesKept = 64u << 20;
/// With local updates: slots of earlier periods remembered, so that a repeat makes no second one.
constexpr size_t kContributionsKept = 4'096;
/// Less than the requester waits: its own deadline is to come after the answer.
constexpr double kAnswerMarginS = 0.05;
constexpr double kLateGraceS = 1;
/// When whoever finds no other peer asks again one that moves.
constexpr uint32_t kMoves_ms = 500;

MicrobatchLimits limits_of(const StageServerDeps& deps) {
  const auto& training = deps.training;
  return {deps.stage, deps.options.max_samples, static_cast<uint32_t>(deps.sequence),
          (uint64_t{training.batch} + training.validation_samples) / training.microbatch};
}

milliseconds millis(double seconds) {
  return milliseconds(static_cast<int64_t>(std::max(0.0, seconds) * 1000));
}

}  // namespace

Microbatches::Microbatches(StageContext& context, StageUpdates& updates)
    : context_(context),
      updates_(updates),
      limits_(limits_of(context.deps)),
      non_finite_(routing::parse_slot_fault(context.deps.faults.non_finite)),
      desk_(context.deps.options.max_resident, context.deps.options.resident_bytes),
      answers_(kAnswersKept, kAnswerBytesKept) {
  const auto& deps = context.deps;
  if (!context.is_last()) {
    next_stage_ = std::make_unique<StageClient>(StageClientDeps{
        context.self, deps.links, deps.dht, deps.events, deps.stage + 1, deps.num_stages,
        deps.options.estimates, deps.options.retry_every, deps.dht_options.silent_after(),
        deps.options.wiring, deps.training.batch / deps.training.microbatch, deps.id.node,
        &context.rates});
    next_stage_->steps_wait(updates.updater() == nullptr);
  }
  update_admission();
  context.self->send(deps.links, admission_atom::value, deps.id.actor, AdmissionPtr(admission_));
}

// -- arrival

caf::result<Mail> Microbatches::on_forward(const Mail& mail) {
  if (!context_.phase.serves()) return to_caf(context_.phase.refusal());
  auto microbatch = decode_microbatch(mail, limits_);
  if (!microbatch) return to_caf(microbatch.error());
  const Key key = microbatch->key;
  if (auto due = routing::admits(updates_.window(), min_attempt_, key); !due) {
    stale_ += due.code() == ErrorCode::kStaleStep ? 1 : 0;
    return to_caf(due.error());
  }
  if (const Mail* reply = answers_.find(key)) return *reply;
  Desk::Resident* known = desk_.find(key);
  if (known == nullptr && context_.move.under_way())
    return to_caf(Error{ErrorCode::kNotReady, "this peer leaves its stage", kMoves_ms});
  // One that others of its stage may have a way on for.
  if (known == nullptr && next_stage_ && next_stage_->live_peers() == 0)
    return to_caf(Error{ErrorCode::kNotReady, "this peer knows no way to the next stage", 200});
  const uint32_t samples = microbatch->input.samples;
  const uint64_t bytes = resident_bytes(mail.body.size(), samples);
  if (known == nullptr && desk_.full(bytes)) return refuse_overload();
  auto promise = context_.self->make_response_promise();
  if (known == nullptr) {
    ++forwards_;
    const double budget_s = std::chrono::duration<double>(mail.budget).count();
    Work work;
    work.microbatch = std::move(*microbatch);
    work.times.received(bytes_of(mail));
    work.times.queued(context_.now_s());
    take_over_body(mail);  // counted by the desk from here on
    came_bytes_ = mail.body.size();
    came_samples_ = samples;
    known = &desk_.admit(key, context_.now_s(), budget_s, std::move(work), bytes);
    update_admission();
  }
  known->payload.promises.push_back(promise);
  compute_next();
  return promise;
}

caf::result<Mail> Microbatches::refuse_overload() {
  ++refused_;
  return to_caf(Error{ErrorCode::kOverloaded, "all places are taken", retry_after_ms()});
}

uint64_t Microbatches::resident_bytes(uint64_t body_bytes, uint32_t samples) const {
  const auto& deps = context_.deps;
  // Before the first one is back, as much as the codecs say.
  const uint64_t travels =
      std::max({sent_bytes_, gradient_bytes_, samples * deps.boundary_bytes_per_sample});
  const uint64_t version = context_.num_parameters * deps.version_bytes_per_parameter /
                           std::max(1u, deps.training.local_update_every);
  return body_bytes + travels + samples * deps.kept_bytes_per_sample + version;
}

uint32_t Microbatches::retry_after_ms() const {
  return static_cast<uint32_t>(std::clamp(mean_compute_s_, 0.01, 1.0) * 1000);
}

void Microbatches::update_admission() {
  if (!context_.phase.serves())
    admission_->close(context_.phase.refusal().code, context_.phase.refusal().retry_after_ms);
  else if (desk_.full(resident_bytes(came_bytes_, came_samples_)))
    admission_->close(ErrorCode::kOverloaded, retry_after_ms());
  else
    admission_->open();
}

void Microbatches::refuse_attempts_below(Attempt attempt) {
  min_attempt_ = std::max(min_attempt_, attempt);
}

void Microbatches::on_cancel(const Mail& mail) {
  const auto& message = mail.as<proto::CancelAttempt>();
  const Key key{Step(message.step()), Slot(message.slot()), Attempt(message.attempt())};
  const Desk::Resident* known = desk_.find(key);
  if (known == nullptr || known->payload.microbatch.request.from != mail.from) return;
  if (desk_.cancel(key)) answer(key, Error{ErrorCode::kCancelled, "the sender gave it up"});
}

// -- computing

void Microbatches::compute_next() {
  if (computing_ || updates_.pauses()) return;
  auto job = desk_.next(updates_.window().computed);
  if (!job) return;
  computing_ = true;
  auto& resident = *desk_.find(job->key);
  work_.waited(resident.payload.times.begun(context_.now_s()), context_.now_s());
  if (job->backward) return run_backward(job->key, resident.payload);
  if (next_stage_)
    run_forward(job->key, resident.payload);
  else
    run_last_stage(job->key, resident.payload);
}

void Microbatches::run_forward(const Key& key, Work& work) {
  work.kept = !work.microbatch.forward_only;
  auto job = [key, input = work.microbatch.input,
              only = work.microbatch.forward_only](tensor::Stage& stage) -> Result<Pass> {
    auto activations = stage.forward(key, input, only);
    if (!activations) return activations.error();
    return Pass{std::move(*activations), 0, {}};
  };
  context_.device.run<Pass>(
      std::move(job),
      [this, key](Result<Pass> pass, double seconds) {
        work_.computed(seconds, 1, context_.now_s());
        forward_done(key, std::move(pass), seconds);
      },
      /*passes=*/1);
}

void Microbatches::run_backward(const Key& key, Work& work) {
  work.kept = false;  // backward forgets the key, whatever comes of it
  const Adding adding = decide_adding(work.microbatch);
  auto job = [key, entry = sum_entry(key, adding), fault = injected_non_finite(key),
              samples = work.microbatch.input.samples,
              gradient = work.downstream->gradient](tensor::Stage& stage) -> Result<Pass> {
    if (fault) {
      stage.drop(key);
      return Error{ErrorCode::kNonFinite, "faults.non_finite"};
    }
    uint64_t forward = stage.updates_at_forward(key).value_or(stage.updates());
    SumEntry sum = entry;
    auto back = stage.backward(key, gradient, sum.begin(stage));
    if (!back) return back.error();
    auto updates = sum.added(stage, samples, forward);
    return Pass{std::move(*back), 0, std::move(updates), sum.sum_changed()};
  };
  context_.device.run<Pass>(
      std::move(job),
      [this, key, adding](Result<Pass> pass, double seconds) {
        work_.computed(seconds, 1, context_.now_s());
        backward_done(key, adding, std::move(pass), seconds);
      },
      /*passes=*/1);
}

void Microbatches::run_last_stage(const Key& key, Work& work) {
  const Adding adding = decide_adding(work.microbatch);
  const bool only = work.microbatch.forward_only;
  const int passes = only ? 1 : 2;
  auto job = [key, only, entry = sum_entry(key, adding), input = work.microbatch.input,
              fault = injected_non_finite(key)](tensor::Stage& stage) -> Result<Pass> {
    if (fault) return Error{ErrorCode::kNonFinite, "faults.non_finite"};
    uint64_t forward = stage.updates();
    SumEntry sum = entry;
    auto loss = stage.forward_backward(key, input, sum.begin(stage), only);
    if (!loss) return loss.error();
    auto updates = sum.added(stage, input.samples, forward);
    return Pass{std::move(loss->gradient), loss->loss_sum, std::move(updates), sum.sum_changed()};
  };
  context_.device.run<Pass>(
      std::move(job),
      [this, key, adding, passes](Result<Pass> pass, double seconds) {
        work_.computed(seconds, passes, context_.now_s());
        backward_done(key, adding, std::move(pass), seconds);
      },
      passes);
}

Microbatches::Adding Microbatches::decide_adding(const Microbatch& microbatch) {
  auto& contributions = context_.contributions;
  Adding adding;
  adding.epoch = contributions.epoch();
  adding.enters = microbatch.adds && contributions.enter(microbatch.key);
  adding.adds = adding.enters && updates_.adds(microbatch.key);
  if (adding.enters) contributions.trim(updates_.window().oldest, kContributionsKept);
  return adding;
}

SumEntry Microbatches::sum_entry(const Key& key, const Adding& adding) const {
  return {adding.adds, adding.epoch, key.step, context_.sum_watch, updates_.updater()};
}

bool Microbatches::injected_non_finite(const Key& key) const {
  return non_finite_ && non_finite_->hits(key, context_.deps.stage);
}

void Microbatches::forward_done(const Key& key, Result<Pass> pass, double seconds) {
  computing_ = false;
  if (Desk::Resident* resident = desk_.computed(key)) {
    resident->payload.times.computed(seconds);
    if (!pass) {
      resident->payload.kept = false;
      answer_error(key, pass.error());
    } else if (resident->cancelled) {
      answer(key, Error{ErrorCode::kCancelled, "the sender gave it up"});
    } else {
      send_on(key, resident->payload, pass->tensor);
    }
  }
  compute_next();
}

void Microbatches::send_on(const Key& key, Work& work, const tensor::EncodedTensor& activations) {
  desk_.sent_on(key);
  auto request = for_next_stage(work.microbatch, activations);
  work.times.sent_on(context_.now_s(), request.ByteSizeLong() + activations.data.size());
  sent_bytes_ = activations.data.size();
  work.microbatch.free_body();
  const double left_s = desk_.find(key)->give_up_s - context_.now_s() - kAnswerMarginS;
  work.sending = next_stage_->send(std::move(request), activations.data,
                                   std::max(millis(left_s), milliseconds(1)),
                                   [this, key](Result<StageClient::Outcome> outcome) {
                                     gradient_back(key, std::move(outcome));
                                   });
}

void Microbatches::gradient_back(const Key& key, Result<StageClient::Outcome> outcome) {
  Desk::Resident* resident = desk_.find(key);
  if (resident == nullptr) return;
  Work& work = resident->payload;
  work.sending = 0;
  if (!outcome) return answer(key, outcome.error());
  work.times.came_back(context_.now_s(), bytes_of(outcome->reply), outcome->waited_s);
  work.downstream = decode_downstream(outcome->reply);
  if (work.downstream->non_finite)
    return answer_non_finite(key, work.downstream->head().non_finite());
  if (work.microbatch.forward_only)
    return answer(key, make_reply(work, work.downstream->loss_sum, {}, /*held=*/false));
  gradient_bytes_ = outcome->reply.body.size();
  take_over_body(outcome->reply);  // the desk counts it as what travels
  desk_.came_back(key);
  work.times.queued(context_.now_s());
  compute_next();
}

void Microbatches::backward_done(const Key& key, const Adding& adding, Result<Pass> pass,
                                 double seconds) {
  computing_ = false;
  auto& contributions = context_.contributions;
  const bool changed = pass && pass->sum_changed;
  if (adding.enters)
    pass && !changed ? contributions.added(key, adding.epoch)
                     : contributions.failed(key, adding.epoch);
  if (changed) updates_.sum_changed(adding.epoch);
  if (pass) updates_.updated(pass->updates);
  if (Desk::Resident* resident = desk_.computed(key)) {
    Work& work = resident->payload;
    work.times.computed(seconds);
    mean_compute_s_ += 0.2 * (work.times.compute_s() - mean_compute_s_);
    if (!pass) {
      answer_error(key, pass.error());
    } else {
      const bool held = contributions.holds(key, adding.epoch);
      const double loss = work.downstream ? work.downstream->loss_sum : pass->loss_sum;
      if (context_.is_last() && held)
        contributions.note_loss(key, loss, work.microbatch.input.samples);
      answer(key, make_reply(work, loss, pass->tensor, held));
    }
  }
  compute_next();
}

// -- answers

Mail Microbatches::make_reply(const Work& work, double loss_sum,
                              const tensor::EncodedTensor& gradient, bool held) const {
  const Key& key = work.microbatch.key;
  proto::ForwardReply reply;
  reply.set_step(key.step.value());
  reply.set_slot(key.slot.value());
  reply.set_attempt(key.attempt.value());
  reply.set_loss_sum(loss_sum);
  auto* hop = reply.add_route();
  *hop = context_.hop();
  hop->set_held(held);
  if (held) hop->set_attempt(context_.contributions.attempt(key).value_or(Attempt()).value());
  if (work.downstream) reply.mutable_route()->MergeFrom(work.downstream->head().route());
  if (!gradient.empty()) *reply.mutable_gradient() = gradient.meta;
  const auto& asker = work.microbatch.request.as<proto::ForwardRequest>().asker();
  work.times.tell(reply, gradient.data.size(), asker, context_.rates);
  return make_mail(std::move(reply), gradient.data);
}

void Microbatches::answer(const Key& key, const Result<Mail>& reply) {
  auto work = desk_.take(key);
  if (!work) return;
  update_admission();
  if (work->kept)
    context_.device.run<bool>(
        [key](tensor::Stage& stage) -> Result<bool> {
          stage.drop(key);
          return true;
        },
        [](const Result<bool>&, double) {});
  if (work->sending != 0) next_stage_->cancel(work->sending);
  deliver(work->promises, reply);
  if (reply) answers_.put(key, *reply, reply->body.size());
}

/// What is not finite here is no fault of this peer's link or life: it goes back as a reply that
/// names the place, and the coordinator decides.
void Microbatches::answer_error(const Key& key, const Error& error) {
  if (error.code != ErrorCode::kNonFinite) return answer(key, error);
  context_.record(key.step,
                  records::NonFinite{key.slot.value(), key.attempt.value(), error.detail});
  answer_non_finite(key, context_.hop());
}

void Microbatches::answer_non_finite(const Key& key, const proto::RouteHop& where) {
  const Desk::Resident* resident = desk_.find(key);
  if (resident == nullptr) return;
  proto::ForwardReply reply;
  reply.set_step(key.step.value());
  reply.set_slot(key.slot.value());
  reply.set_attempt(key.attempt.value());
  reply.set_compute_s(static_cast<float>(resident->payload.times.compute_s()));
  *reply.mutable_non_finite() = where;
  answer(key, make_mail(std::move(reply)));
}

void Microbatches::end_late_ones() {
  for (const Key& key : desk_.late(context_.now_s(), kLateGraceS))
    answer(key, Error{ErrorCode::kPeerTimeout, "the budget is used up"});
}

void Microbatches::end_before(Step step, const Error& error) {
  for (const Key& key : desk_.before(step)) answer(key, error);
}

void Microbatches::describe_to(proto::RegisterPeer& message) {
  const auto means = work_.means(context_.now_s());
  message.set_running(means.running);
  message.set_queued(means.queued);
  message.set_done_per_s(means.done_per_s);
}

std::string Microbatches::describe() const {
  std::ostringstream text;
  text << "resident " << desk_.size() << " of " << desk_.places() << ", " << desk_.bytes()
       << " bytes, queued forward " << desk_.queued_forward() << " backward "
       << desk_.queued_backward() << ", computing " << (computing_ ? "yes" : "no") << "\n"
       << "forwards " << forwards_ << ", refused " << refused_ << ", stale " << stale_
       << ", seconds per microbatch " << mean_compute_s_ << "\n";
  if (next_stage_) text << next_stage_->describe();
  return text.str();
}

}  // namespace swarm::actors
