#include "actors/trainer/trainer.h"

#include <fmt/format.h>

#include <caf/stateful_actor.hpp>
#include <map>
#include <utility>
#include <vector>

#include "actors/coordinator/coordinator_client.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "actors/node/keep_text.h"
#include "actors/stage/stage_client.h"
#include "common/printable.h"
#include "common/strong_id.h"
#include "routing/steps/slot_samples.h"
#include "routing/steps/trainer_progress.h"
#include "routing/steps/trainer_quiet.h"
#include "routing/wiring/in_flight.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

/// One microbatch may take this long in all, reroutes included, or longer if two tries would; the
/// adaptive deadlines are shorter.
constexpr milliseconds kSlotBudget{120'000};
/// Between two words that this trainer is here while it has nothing to ask for.
constexpr double kAnnouncePause_s = 0.5;
constexpr size_t kMaxReason = 300;

class TrainerState {
 public:
  static constexpr const char* name = "trainer";
  using Self = caf::stateful_actor<TrainerState>;

  void init(Self* self, TrainerDeps deps) {
    self_ = self;
    deps_ = std::move(deps);
    in_flight_ = routing::InFlight(deps_.options.max_in_flight);
    install_default_handlers(self_);
    coordinator_ = std::make_unique<CoordinatorClient>(
        CoordinatorClientDeps{self_, deps_.links, deps_.dht, milliseconds(100),
                              [this] { coordinator_changed(); }, deps_.dht_options.silent_after()});
    first_stage_ = std::make_unique<StageClient>(
        StageClientDeps{self_, deps_.links, deps_.dht, deps_.events, Stage(0), deps_.num_stages,
                        deps_.options.estimates, milliseconds(50), deps_.dht_options.silent_after(),
                        deps_.options.wiring, deps_.training.batch / deps_.training.microbatch,
                        deps_.id.node, &rates_, deps_.boundary_bytes_per_sample});
    self_->send(deps_.links, subscribe_atom::value, caf::actor_cast<caf::actor>(self_));
    on_tick();
  }

  caf::behavior make_behavior() {
    return {
        [this](tick_atom) { on_tick(); },
        [](run_later_atom, const LocalTask& task) { task(); },
        [](node_up_atom, const NodeInfo&) {},
        [this](node_down_atom, const NodeInfo& info, const std::string&) {
          coordinator_->node_down(info.id);
          first_stage_->node_down(info.id);
        },
        [this](describe_atom) { return describe(); },
        [this](drain_atom) { return drain(); },
    };
  }

 private:
  struct Carrying {
    proto::LeasedSlot slot;
    Step step;
    double began_s = 0;
    double leased_s = 0;  // or named to the coordinator
    uint64_t round = 0;   // of in_flight_
    uint64_t sending = 0;
  };

  void on_tick() {
    self_->delayed_send(self_, deps_.dht_options.announce_every, tick_atom::value);
    coordinator_->tick();
    first_stage_->tick();
    if (finished_) quiet_.finished();
    const double oldest_s = carrying_.empty() ? 0 : now_s() - carrying_.begin()->second.began_s;
    if (auto word = quiet_.word(
            {coordinator_->known(), first_stage_->live_peers(), carrying_.size(), oldest_s},
            now_s()))
      deps_.say(*word);
    finished_ = false;  // a swarm may have to go back even from its end: ask now and then
    self_->request(deps_.links, milliseconds(1'000), stats_atom::value)
        .then(
            [this](const LinksStats& stats) {
              bytes_sent_ = stats.bytes_sent;
              rates_ = link_rates(stats);
            },
            [](const caf::error& error) {
              log_debug("event=stats_failed reason=" + to_string(from_caf(error)));
            });
    if (draining_ && first_stage_->live_peers() == 0) let_go();
    renew_leases();
    announce();
    if (!refused_) lease();
  }

  /// Takes nothing new, and lets come back what is under way.
  caf::result<bool> drain() {
    draining_ = true;
    if (carrying_.empty()) return true;
    leaving_.push_back(self_->make_response_promise<bool>());
    self_->delayed_send(self_, deps_.finish_limit, run_later_atom::value,
                        LocalTask([this] { let_go(); }));
    return leaving_.back();
  }

  static Error leaves() { return {ErrorCode::kShuttingDown, "the trainer leaves"}; }

  /// What has not come back others are to carry, at once.
  void let_go() {
    first_stage_->cancel_all();
    while (!carrying_.empty()) carried(carrying_.begin()->first, leaves());
  }

  /// Its node has a vote, whether or not there is something to train: it says that it is here.
  void announce() {
    if (draining_ || !coordinator_->known() || now_s() - announced_s_ < kAnnouncePause_s) return;
    announced_s_ = now_s();
    tell({});
  }

  void add_carried(Carrying& one, proto::Lease& message) const {
    one.leased_s = now_s();
    auto* carried = message.add_carried();
    carried->set_step(one.step.value());
    carried->set_slot(one.slot.slot());
    carried->set_attempt(one.slot.attempt());
  }

  /// A lease is taken back from who is dead or stuck, not from who is slow.
  void renew_leases() {
    const std::chrono::duration<double> limit = deps_.lease_limit;
    if (!coordinator_->known()) return;
    proto::Lease message;
    for (auto& [id, one] : carrying_)
      if (now_s() - one.leased_s >= limit.count() / 4) add_carried(one, message);
    if (message.carried().empty()) return;
    tell(std::move(message));
  }

  void tell(proto::Lease message) {  // what fails is said again
    sign(message);
    coordinator_->request(make_mail(std::move(message), {}, milliseconds(5'000)),
                          [](const auto&) {});
  }
  /// Who asks, and what its node has sent and reads.
  void sign(proto::Lease& message) const {
    *message.mutable_trainer() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
    message.set_node_peers(deps_.node_peers);
    for (uint64_t bytes : bytes_sent_) message.add_bytes_sent(bytes);
    if (deps_.own_text.known()) *message.mutable_text() = to_proto(deps_.own_text);
  }

  /// What is under way belongs to a step that the new coordinator knows too: it goes on, and the
  /// reports go to the new one. Its ledger ignores what it has not leased.
  void coordinator_changed() {
    asked_.waits = false;
    asked_.tells_all = true;
    ++asked_.epoch;
    announced_s_ = -kAnnouncePause_s;
    announce();
    lease();
  }

  void lease() {
    const bool full = carrying_.size() >= in_flight_.limit();
    if (draining_ || finished_ || asked_.waits || full || !coordinator_->known()) return;
    if (first_stage_->live_peers() == 0) {
      announce();
      return lease_later();
    }
    proto::Lease message;
    message.set_max_slots(in_flight_.limit() - static_cast<uint32_t>(carrying_.size()));
    // What this coordinator leased to us while we followed another one has not reached us.
    message.set_no_others(asked_.tells_all);
    if (asked_.tells_all)
      for (auto& [id, one] : carrying_) add_carried(one, message);
    sign(message);
    asked_.waits = true;
    coordinator_->request(make_mail(std::move(message), {}, milliseconds(5'000)),
                          [this, epoch = asked_.epoch](Result<Mail> reply) {
                            if (epoch == asked_.epoch) return leased(std::move(reply));
                            if (reply) carry_late(*reply);
                          });
  }

  void lease_later() { lease_in(deps_.options.poll_every); }

  void lease_in(milliseconds pause) {
    if (waiting_) return;
    waiting_ = true;
    self_->delayed_send(self_, pause, run_later_atom::value, LocalTask([this] {
                          waiting_ = false;
                          lease();
                        }));
  }

  /// Asked for before the coordinator took another term, and served after: it is ours, unless we have said since
  /// what we carry.
  void carry_late(const Mail& reply) {
    if (reply.kind != proto::KIND_LEASE_REPLY || asked_.waits) return;
    const auto& head = reply.as<proto::LeaseReply>();
    if (Term(head.term()) != coordinator_->term()) return;
    for (const auto& slot : head.slots()) carry(Step(head.step()), slot);
  }

  void leased(Result<Mail> reply) {
    asked_.waits = false;
    if (!reply || reply->kind != proto::KIND_LEASE_REPLY) return lease_later();
    asked_.tells_all = false;
    const auto& head = reply->as<proto::LeaseReply>();
    const RunText run = from_proto(head.text());
    const RunText& own = deps_.own_text;
    if (own.known() && run.known() && run.fingerprint != own.fingerprint) return refused(run);
    refused_ = false;
    finished_ = head.finished();
    keep_text(*deps_.text, head.text(), Step(head.step()));
    first_stage_->steps_wait(head.step_waits());
    for (const auto& slot : head.slots()) carry(Step(head.step()), slot);
    lease();
  }

  /// The run reads another text: nothing that this trainer sent would be part of it.
  void refused(const RunText& run) {
    if (!refused_) {
      const std::string why = other_text(deps_.own_text, run);
      log_error("event=other_text this trainer does not train: " + why);
      deps_.events->record(-1, -1,
                           records::OtherText{deps_.node_name, {deps_.own_text.fingerprint}, why});
    }
    refused_ = true;
    lease_in(kRefusedPause);
  }

  /// The samples of a slot: its index alone decides (invariant I10).
  Buffer tokens_of(Step step, const proto::LeasedSlot& slot) const {
    const auto& training = deps_.training;
    const auto split = slot.validation() ? tensor::Split::kValidation : tensor::Split::kTrain;
    return deps_.data->microbatch(
        split, routing::samples_of({step, slot.slot(), slot.validation()},
                                   {training.steps, training.batch, training.microbatch}));
  }

  void carry(Step step, const proto::LeasedSlot& slot) {
    uint64_t id = ++carried_;
    proto::ForwardRequest head;
    head.set_step(step.value());
    head.set_slot(slot.slot());
    head.set_attempt(slot.attempt());
    head.set_needs(slot.needs());
    head.set_forward_only(slot.validation());
    *head.mutable_avoid() = slot.avoid();
    head.set_samples(deps_.training.microbatch);
    head.set_sequence(static_cast<uint32_t>(deps_.data->sequence()));
    Buffer tokens = tokens_of(step, slot);
    head.set_tokens(tokens.data(), tokens.size());
    const uint64_t round = in_flight_.sent(static_cast<uint32_t>(carrying_.size()) + 1);
    carrying_[id] = {slot, step, now_s(), now_s(), round, 0};
    if (draining_) return carried(id, leaves());  // it was asked for before
    const auto budget = std::max(kSlotBudget, first_stage_->patience(deps_.training.microbatch));
    uint64_t sending = first_stage_->send(
        std::move(head), {}, budget,
        [this, id](Result<StageClient::Outcome> outcome) { carried(id, std::move(outcome)); });
    if (auto it = carrying_.find(id); it != carrying_.end()) it->second.sending = sending;
  }

  void carried(uint64_t id, Result<StageClient::Outcome> outcome) {
    auto node = carrying_.extract(id);
    if (node.empty()) return;
    const Carrying& carrying = node.mapped();
    tell_in_flight(carrying, outcome);
    proto::SlotDone report;
    *report.mutable_trainer() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
    report.set_step(carrying.step.value());
    report.set_slot(carrying.slot.slot());
    report.set_attempt(carrying.slot.attempt());
    if (outcome && outcome->reply.as<proto::ForwardReply>().has_non_finite()) {
      report.set_failed(true);
      report.set_error("not finite");
      *report.mutable_non_finite() = outcome->reply.as<proto::ForwardReply>().non_finite();
      ++failed_;
    } else if (outcome) {
      const auto& reply = outcome->reply.as<proto::ForwardReply>();
      report.set_loss_sum(reply.loss_sum());
      report.set_samples(deps_.training.microbatch);
      *report.mutable_route() = reply.route();
      ++done_;
      quiet_.heard(now_s());
      if (!carrying.slot.validation()) tell_progress(carrying.step, reply.loss_sum());
    } else {
      report.set_failed(true);
      report.set_error(to_string(outcome.error()));
      quiet_.failed(printable(report.error(), kMaxReason));
      ++failed_;
    }
    report_slot(std::move(report));
    if (draining_ && carrying_.empty())
      for (auto& promise : std::exchange(leaving_, {})) promise.deliver(true);
    // A failed slot is leased again at once, maybe to us: not in a tight loop.
    if (outcome)
      lease();
    else
      lease_later();
  }

  /// One whose budget was used up did nothing but wait. One that was not finite says nothing.
  void tell_in_flight(const Carrying& carrying, const Result<StageClient::Outcome>& outcome) {
    if (carrying.slot.validation()) return;
    const double took_s = now_s() - carrying.began_s;
    if (!outcome && outcome.error().code == ErrorCode::kPeerTimeout)
      in_flight_.came_back(carrying.round, took_s, took_s);
    if (outcome && !outcome->reply.as<proto::ForwardReply>().has_non_finite())
      in_flight_.came_back(carrying.round, outcome->inside_s, outcome->waited_s);
  }

  double now_s() const {
    return std::chrono::duration<double>(self_->clock().now().time_since_epoch()).count();
  }

  void tell_progress(Step step, double loss_sum) {
    progress_.trained(step, loss_sum, deps_.training.microbatch, now_s());
    if (const auto line = progress_.take(now_s()))
      deps_.say(fmt::format("step {} of {}, loss {:.4f}, {:.0f} tokens/s from this trainer",
                            line->step.value(), deps_.training.steps, line->loss,
                            line->samples_per_s * deps_.data->sequence()));
  }

  void report_slot(proto::SlotDone report) {
    auto send_again = [this, report] {
      self_->delayed_send(self_, milliseconds(100), run_later_atom::value,
                          LocalTask([this, report] { report_slot(report); }));
    };
    coordinator_->request(
        make_mail(report, {}, milliseconds(3'000)), [send_again](Result<Mail> reply) {
          // Of a step that is over, or of an attempt that a successor does not
          // know: the slot is leased again where it matters.
          bool taken = reply || reply.code() == ErrorCode::kStaleStep ||
                       reply.code() == ErrorCode::kInvalidArgument ||
                       reply.code() == ErrorCode::kRefused || reply.code() == ErrorCode::kNotFound;
          if (!taken) send_again();
        });
  }

  std::string describe() const {
    const double waiting = 100 * in_flight_.waiting();
    const std::string waits =
        waiting < 0 ? "" : fmt::format(" ({:.0f} % of their time waiting)", waiting);
    std::string text = fmt::format(
        "trainer of {}: in flight {} of {}{}, done {}, failed {}{}{}\ncoordinator {} term {}\n",
        deps_.node_name, carrying_.size(), in_flight_.limit(), waits, done_, failed_,
        finished_ ? ", finished" : "", draining_ ? ", draining" : "",
        coordinator_->known() ? coordinator_->id().brief() : "not known", coordinator_->term());
    for (const auto& [id, one] : carrying_)
      text += fmt::format("  step {} slot {} attempt {}\n", one.step, one.slot.slot(),
                          one.slot.attempt());
    return text + first_stage_->describe();
  }

  Self* self_ = nullptr;
  TrainerDeps deps_;
  std::unique_ptr<CoordinatorClient> coordinator_;
  std::unique_ptr<StageClient> first_stage_;
  std::map<uint64_t, Carrying> carrying_;
  routing::InFlight in_flight_{std::nullopt};
  struct Asked {
    bool waits = false;      ///< For the answer to a Lease.
    bool tells_all = false;  ///< The next one says what it carries.
    uint64_t epoch = 0;      ///< Of the coordinator that it follows.
  };
  Asked asked_;
  uint64_t carried_ = 0, done_ = 0, failed_ = 0;
  double announced_s_ = -kAnnouncePause_s;
  bool waiting_ = false, finished_ = false, draining_ = false, refused_ = false;
  std::vector<caf::typed_response_promise<bool>> leaving_;  ///< Answered when it carries nothing.
  routing::TrainerProgress progress_;
  routing::TrainerQuiet quiet_;
  std::array<uint64_t, kTrafficClasses> bytes_sent_{};
  LinkRates rates_;
};

}  // namespace

caf::actor spawn_trainer(caf::actor_system& system, TrainerDeps deps) {
  return system.spawn([deps = std::move(deps)](TrainerState::Self* self) {
    self->state.init(self, deps);
    return self->state.make_behavior();
  });
}

}  // namespace swarm::actors
