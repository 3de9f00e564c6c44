/// Inside of the StageServer: its state and the three groups of its handlers. Included by
/// stage_server.cc (life: registration, loading, leaving), stage_microbatches.cc (forward and
/// backward) and stage_steps.cc (close, commit, snapshots) only.
#pragma once

#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "actors/averaging/averager.h"
#include "actors/coordinator/coordinator_client.h"
#include "actors/coordinator/staleness.h"
#include "actors/net/requests.h"
#include "actors/stage/local_updater.h"
#include "actors/stage/stage_client.h"
#include "actors/stage/stage_server.h"
#include "actors/state/state_messages.h"
#include "common/names.h"

namespace swarm::actors {

class StageServerState {
 public:
  static constexpr const char* name = "stage_server";
  using Self = caf::stateful_actor<StageServerState>;
  enum class Phase { kStarting, kRegistering, kLoading, kServing, kDraining };

  void init(Self* self, StageServerDeps deps);
  caf::behavior make_behavior();

  // -- life (stage_server.cc)
  caf::result<Mail> on_mail(const Mail& mail);
  void on_tick();
  void on_node_down(const NodeId& node);
  std::string describe() const;
  caf::result<bool> on_drain();

  // -- microbatches (stage_microbatches.cc)
  caf::result<Mail> on_forward(const Mail& mail);
  void on_cancel(const proto::CancelAttempt& message);

  // -- steps (stage_steps.cc)
  caf::result<Mail> on_close(const Mail& mail);
  caf::result<Mail> on_commit(const Mail& mail);
  caf::result<Mail> on_save(const Mail& mail);

  // -- asynchronous mode (stage_async.cc)
  caf::result<Mail> on_end_period(const Mail& mail);

  // -- snapshots
  caf::result<FrozenState> on_freeze();

 private:
  using Key = tensor::MicrobatchKey;
  using TimePoint = std::chrono::steady_clock::time_point;

  /// One microbatch between its arrival and its answer.
  struct Resident {
    enum class At { kForwardQueue, kComputing, kDownstream, kBackwardQueue };
    Mail request;
    std::vector<caf::response_promise> promises;  ///< A repeat joins the first.
    At at = At::kForwardQueue;
    bool cancelled = false;
    bool kept = false;  ///< The stage keeps something under the key.
    uint64_t sending = 0;
    TimePoint give_up_at{};
    double compute_s = 0;
    Mail downstream;  ///< The successor's reply.
  };
  /// A round of this stage for the open step.
  struct Round {
    uint64_t id = 0;
    std::vector<caf::response_promise> promises;
    std::optional<AverageResult> result;
    bool abandoned = false;
    std::map<uint32_t, uint64_t> held;  ///< slot -> attempt in the sum that it averages.
    std::optional<proto::CommitStepReply> committed;  ///< Of the update that came with it.
  };
  struct Outcome {  ///< Of a compute job on a microbatch.
    tensor::EncodedTensor tensor;
    double loss_sum = 0;
    LocalUpdates updates;
  };

  // life
  void set_phase(Phase phase, const std::string& reason);
  void coordinator_changed();
  void register_peer();
  void registered(Result<Mail> reply);
  void obey(const proto::RegisterPeerReply& reply);
  void initialize_stage();
  void restore_own(uint64_t step);
  void fetch_state(const proto::RegisterPeerReply& reply);
  void load(const Buffer& state, const records::Restored& how);
  void note_loaded(const std::string& source);
  void announce();
  void poll_snapshots();
  void poll_bytes_sent();
  Error not_ready() const;

  // microbatches
  Status check(const proto::ForwardRequest& head) const;
  bool is_at(const Key& key, Resident::At at) const;
  void pump();
  void run_forward(const Key& key);
  void run_last_stage(const Key& key);
  void run_backward(const Key& key);
  void forward_done(const Key& key, Result<Outcome> outcome, double seconds);
  void send_downstream(const Key& key, const tensor::EncodedTensor& activations);
  void gradient_back(const Key& key, Result<StageClient::Outcome> outcome);
  void backward_done(const Key& key, bool accumulated, uint64_t sum_epoch, Result<Outcome> outcome,
                     double seconds);
  void answer(const Key& key, Result<Mail> reply);
  void answer_error(const Key& key, const Error& error);
  void answer_non_finite(const Key& key, const proto::RouteHop& where);
  void remember(const Key& key, const Mail& reply);
  void forget_answers();
  bool injected_non_finite(const Key& key) const;
  void drop_residents(uint64_t before_step, const Error& error);
  bool decide_accumulate(const proto::ForwardRequest& head);
  std::optional<uint64_t> held_attempt(const Key& key) const;
  void remember_loss(const Key& key, double loss_sum);
  void forget_held(const Key& key);
  Mail make_reply(const Resident& resident, double loss_sum, const tensor::EncodedTensor& gradient,
                  bool held) const;
  tensor::StageInput stage_input(const Mail& mail) const;

  // steps
  void drop_gradient_sum(const std::string& reason);
  Status check_close(const proto::CloseStep& close, int self_index) const;
  void close_now(const proto::CloseStep& close, size_t self_index, Round before);
  void start_round(AverageRound round, const Buffer& sum);
  Result<AverageRound> make_round(const proto::CloseStep& close, size_t self_index) const;
  void update_applied(const proto::CommitStep& commit, uint64_t checksum);
  void collapse(const std::string& reason);
  static Error about_others(Error error);
  void round_done(uint64_t round, Result<AverageResult> result);
  void abandon_round(const std::string& reason);
  void committed(const proto::CommitStep& commit, caf::response_promise promise,
                 Result<uint64_t> checksum);
  void enter_step(uint64_t step);
  void note_committed(const proto::CommitStep& commit, const Round& round, uint64_t checksum);
  proto::CommitStepReply commit_reply() const;
  std::function<Result<FrozenState>(tensor::Stage&)> freeze_job() const;
  void save_snapshot(std::function<void(Status)> done);

  // asynchronous mode
  bool asynchronous() const { return deps_.training.asynchronous(); }
  void note_updates(const LocalUpdates& updates);
  void begin_round(const proto::EndPeriod& message, AverageRound round);
  void take_average(const proto::EndPeriod& message, const Buffer& sent, double sent_s,
                    Result<AverageResult> result);
  void end_round(const proto::EndPeriod& message, Result<proto::EndPeriodReply> reply);
  proto::EndPeriodReply period_reply();
  void enter_period(uint64_t period);
  std::string describe_updates() const;

  double since(TimePoint start) const;
  TimePoint now() const;
  bool is_last() const { return deps_.stage + 1 == deps_.num_stages; }
  std::string stream() const { return stage_key(deps_.stage); }
  template <class Event>
  void record(const Event& event) {
    deps_.events->record(deps_.stage, static_cast<int64_t>(step_), event);
  }

  Self* self_ = nullptr;
  StageServerDeps deps_;
  Phase phase_ = Phase::kStarting;
  std::unique_ptr<CoordinatorClient> coordinator_;
  std::unique_ptr<StageClient> next_stage_;  ///< Null at the last stage.

  bool has_state_ = false;
  uint64_t step_ = 0;     ///< Whose microbatches are served.
  uint64_t applied_ = 0;  ///< Updates in the parameters: step_, or one less while one is delayed.
  uint64_t computed_on_ = 0;  ///< applied_ when the open step began: what its sum was computed on.
  uint64_t num_parameters_ = 0;
  uint64_t checksum_ = 0;  ///< Of the parameters at the start of step_; 0: not known yet.
  std::vector<uint64_t> snapshots_;
  std::set<uint64_t> unreadable_;  ///< Snapshots that are listed but corrupt or outdated.
  uint64_t min_attempt_ = 0;       ///< Earlier ones belong to a history that was given up.
  bool registering_ = false;
  uint64_t registered_step_ = 0;  ///< applied_ as the registration under way says.
  bool was_serving_ = false;

  std::map<Key, Resident> residents_;
  std::deque<Key> forward_queue_, backward_queue_;
  bool computing_ = false;
  std::deque<std::pair<Key, Mail>> answered_;  ///< Latest replies, for repeats.
  uint64_t answered_bytes_ = 0;
  std::map<uint32_t, uint64_t> held_;  ///< slot -> attempt in the gradient sum.
  struct SlotLoss {
    double sum = 0;
    uint32_t samples = 0;
  };
  std::map<std::pair<uint64_t, uint32_t>, SlotLoss> losses_;  ///< (step, slot); last stage.
  uint64_t sum_epoch_ = 0;                                    ///< Rises when the sum is dropped.
  /// Asynchronous mode: (period, slot) -> attempt that went into an update here; the newest.
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> taken_;
  std::shared_ptr<LocalUpdater> updater_;  ///< Shared with jobs of the compute actor, used there.
  uint64_t updates_made_ = 0;
  Staleness staleness_;         ///< Since the start, for people.
  Staleness period_staleness_;  ///< Since the last report.
  bool averaging_ = false;      ///< A round of weights is under way.
  bool stalled_ = false;        ///< Nothing new is computed until it is over.
  TimePoint round_began_{};
  Round round_;
  bool committing_ = false;
  uint64_t last_round_ = 0;  ///< Round of the commit that led to step_.
  double last_gradient_norm_ = 0;
  uint32_t swarm_peers_ = 0;  ///< As the coordinator said when it told this one to serve.

  std::array<uint64_t, kTrafficClasses> bytes_sent_{};
  uint64_t announcements_ = 0;
  uint64_t forwards_ = 0, refused_ = 0, stale_ = 0;
  double mean_compute_s_ = 0;  ///< Per microbatch, forward and backward, EMA.
};

}  // namespace swarm::actors
