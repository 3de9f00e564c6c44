/// Inside of the Coordinator. Included by coordinator.cc (life, election, leases, status),
/// coordinator_peers.cc (registration, takeover, recovery), coordinator_steps.cc (rounds, commits),
/// coordinator_delayed.cc and coordinator_records.cc only.
#pragma once

#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "actors/coordinator/coordinator.h"
#include "actors/coordinator/staleness.h"
#include "actors/net/links/links.h"
#include "actors/net/requests.h"
#include "routing/averaging/round_verdict.h"
#include "routing/membership/election.h"
#include "routing/membership/recovery.h"
#include "routing/steps/step_ledger.h"

namespace swarm::actors {

class CoordinatorState {
 public:
  static constexpr const char* name = "coordinator";
  using Self = caf::stateful_actor<CoordinatorState>;
  enum class Phase { kStandby, kGathering, kOpen, kFinished };

  void init(Self* self, CoordinatorDeps deps);
  caf::behavior make_behavior();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Of one request for a round's answer; the round itself may take longer (ask_member).
  static constexpr std::chrono::milliseconds kRoundBudget{120'000};

  /// A stage server that registered.
  struct Peer {
    PeerAddress address;
    caf::actor proxy;
    uint32_t stage = 0;
    bool has_state = false;
    uint64_t step = 0;       ///< Updates applied.
    uint64_t open_step = 0;  ///< Whose microbatches it serves.
    std::vector<uint64_t> snapshots;
    std::vector<std::pair<uint32_t, uint64_t>> held;  ///< (slot, attempt), as last reported.
    std::vector<proto::HeldSlot> losses;              ///< Those of `held` whose loss it knows.
    bool has_average = false;
    uint64_t round = 0;
    double last_gradient_norm = 0;
    bool reported = false;        ///< Registered since the gathering began.
    bool serving = false;         ///< Member at the open step.
    bool commit_pending = false;  ///< A commit is under way to it.
    bool late_save = false;       ///< Was asked for the last snapshot after the end.
    uint64_t checksum = 0, checksum_step = 0;
    uint32_t swarm_peers = 0;              ///< That were here when it was told to serve last.
    std::optional<TimePoint> ahead_since;  ///< It has a later step in memory than the swarm.
    std::optional<uint64_t> fetch_from;    ///< Asynchronous: the period when it was told to fetch.
    std::vector<uint64_t> bytes_sent;
  };
  /// One stage of the open step.
  struct StageProgress {
    enum class At { kFilling, kAveraging, kAveraged };
    At at = At::kFilling;
    uint64_t round = 0;
    std::map<PeerId, routing::MemberAnswer::Kind> answers;
    std::vector<HeldSlots> members;  ///< As told to them; for the audit.
    /// It carries an update, or its step runs on: failure means recovery, not another try.
    bool overlapped = false;
    std::optional<uint64_t> digest;  ///< Of the average, by the first member to answer.
    std::optional<TimePoint> first_failure;
    double squared_norm = 0;
  };
  /// Delayed updates: a step that is averaged while the next one is open.
  struct ClosingStep {
    uint64_t step = 0, computed_on = 0;
    std::unique_ptr<routing::StepLedger> ledger;
    std::vector<StageProgress> stages;
    TimePoint opened_at{}, closed_at{};
  };
  /// Asynchronous mode: a period after the oldest open one, which is step_.
  struct OpenPeriod {
    uint64_t step = 0;
    std::unique_ptr<routing::StepLedger> ledger;
  };
  /// Asynchronous mode: what a stage's peers have reported since the last line of metrics.
  struct Leases {
    uint64_t step = 0;
    const routing::StepLedger* ledger = nullptr;
    std::vector<routing::SlotLease> slots;
  };
  struct WaitingLease {
    ActorId trainer;
    uint32_t max_slots = 0;
    TimePoint give_up_at{};
    caf::response_promise promise;
  };

  // coordinator.cc
  caf::result<Mail> on_mail(const Mail& mail);
  caf::result<Mail> on_lease(const Mail& mail);
  void end_older_leases(const ActorId& trainer);
  caf::result<Mail> on_slot_done(const Mail& mail);
  caf::result<Mail> on_save();
  Status slot_failed(const proto::SlotDone& message, routing::StepLedger& ledger);
  Status slot_carried(const proto::SlotDone& message, routing::StepLedger& ledger);
  void on_tick();
  void on_node_down(const NodeInfo& info);
  void publish_record();
  void hold_election();
  void decide_election(const std::vector<routing::Candidate>& candidates);
  void take_over(uint64_t term);
  void step_down(const std::string& reason);
  void serve_waiting_leases();
  void expire_waiting_leases();
  Leases next_leases(const WaitingLease& waiting, double deadline_s);
  Mail lease_reply(const Leases& leases) const;
  proto::SwarmStatusReply status() const;
  std::string describe() const;

  // coordinator_peers.cc
  caf::result<Mail> on_register(const Mail& mail);
  void end_its_predecessors(const PeerId& id);
  void raise_term(uint64_t seen);
  void update_peer(Peer& peer, const proto::RegisterPeer& message);
  proto::RegisterPeerReply verdict_while_open(const PeerId& id, Peer& peer);
  proto::RegisterPeerReply verdict_while_gathering(const PeerId& id, Peer& peer);
  static proto::RegisterPeerReply wait_verdict(uint32_t retry_after_ms, const std::string& reason);
  proto::RegisterPeerReply fetch_verdict(const Peer& peer, const std::string& reason) const;
  proto::RegisterPeerReply verdict_for_one_ahead(Peer& peer);
  enum class Bits { kEqual, kOther, kNotKnown };
  Bits compare_bits(const PeerId& id, const Peer& peer) const;
  bool few_peers_are_here(const std::vector<routing::PeerSupply>& supplies);
  void record_recovery(const routing::RecoveryPlan& plan, size_t present);
  void rebuild_ledger(const PeerId& id, const Peer& peer);
  bool admit(const PeerId& id, Peer& peer);
  void start_gathering(const std::string& reason);
  void try_to_plan();
  bool finish_half_committed_step();
  void try_to_open();
  void peer_gone(const PeerId& id, const std::string& reason);
  void ask_to_register(const Peer& peer, const std::string& reason);
  std::vector<PeerId> serving_peers(uint32_t stage) const;
  std::vector<uint32_t> live_peers() const;

  // coordinator_async.cc
  bool asynchronous() const { return deps_.training.asynchronous(); }
  routing::StepLedger* ledger_of(uint64_t step);
  std::vector<routing::StepLedger*> ledgers();
  void open_next_period();
  void advance_periods();
  void close_period();
  void ask_who_missed_the_last_round();
  void begin_last_round();
  bool resume_last_round(uint64_t step);
  void end_period(uint32_t stage, uint64_t period, bool average, bool save);
  void period_answered(uint32_t stage, uint64_t round, const PeerId& id, Result<Mail> reply);
  void member_gone(uint32_t stage, const PeerId& id);
  void round_over(uint32_t stage);
  bool averaging() const;
  static bool any_pending(const StageProgress& progress);
  proto::RegisterPeerReply verdict_while_periods(const PeerId& id, Peer& peer);

  // coordinator_steps.cc
  std::unique_ptr<routing::StepLedger> make_ledger(uint64_t step) const;
  void enter_step(uint64_t step);
  void open_step(uint64_t step);
  void advance();
  void start_round(uint32_t stage);
  void send_close(uint32_t stage, StageProgress& progress, proto::CloseStep close);
  void ask_member(uint32_t stage, uint64_t round, const PeerId& id, const Mail& mail,
                  std::function<void(Result<Mail>)> answered);
  static bool any_answer(const StageProgress& progress);
  bool still_commits(const std::vector<PeerId>& members) const;
  bool drop_unreachable_holders(uint32_t stage);
  bool advance_delayed();
  void close_delayed();
  proto::CommitStep decide_commit(const ClosingStep& closing);
  void take_commit_reply(Peer& peer, const proto::CommitStepReply& reply);
  StageProgress* find_round(uint32_t stage, uint64_t round);
  bool newcomers_wait() const;
  uint64_t attempt_base() const;
  bool decide_save(uint64_t next);
  bool may_save() const;
  bool everywhere(uint64_t snapshot) const;
  uint64_t applied() const { return pending_ ? pending_->step : step_; }
  void close_answered(uint32_t stage, uint64_t round, uint64_t step, const PeerId& id,
                      Result<Mail> reply);
  void dropped_late(uint64_t step, const PeerId& id, const Result<Mail>& reply);
  void judge(uint32_t stage, StageProgress& progress);
  void judge_all();
  void abandon_round(uint32_t stage);
  void unwind_round(uint32_t stage);
  void write_audit(const ClosingStep& closing) const;
  void commit();
  void send_commit(const PeerId& id, const proto::CommitStep& commit);
  void commit_answered(const PeerId& id, uint64_t step, Result<Mail> reply);
  void check_replicas(uint32_t stage, uint64_t step);
  void write_metrics(const ClosingStep& closing, double gradient_norm);
  void finish();
  void save_final(const records::RunFinished& finished, int tries);
  void save_late(const PeerId& id, Peer& peer);
  ClosingStep take_open_step();
  static bool all_averaged(const std::vector<StageProgress>& stages);
  bool nothing_counts() const;
  void diverge();

  double since(TimePoint start) const;
  TimePoint now() const;
  double now_s() const;
  template <class Event>
  void record(const Event& event, int64_t stage = -1) {
    deps_.events->record(stage, static_cast<int64_t>(step_), event);
  }
  /// As people know it: its node's name.
  std::string name_of(const PeerId& id) const;

  Self* self_ = nullptr;
  CoordinatorDeps deps_;
  Phase phase_ = Phase::kStandby;
  uint64_t term_ = 0;  ///< Own when active, else the highest seen.
  uint64_t publications_ = 0;
  std::set<NodeId> dead_;
  std::map<NodeId, Endpoint> candidates_;
  std::optional<NodeId> leader_;
  TimePoint started_at_{}, last_election_at_{}, last_published_at_{};
  bool asking_dht_ = false;

  std::map<PeerId, Peer> peers_;
  std::map<ActorId, std::vector<uint64_t>> trainers_;  ///< -> bytes sent so far
  std::optional<routing::RecoveryPlan> plan_;
  TimePoint gathering_since_{}, last_newcomer_at_{};
  std::string gathering_reason_, waiting_for_;
  /// Updates that the swarm had applied before it gathered, if this coordinator led it then.
  std::optional<uint64_t> applied_before_;
  uint32_t swarm_peers_ = 0;  ///< Of which the swarm consisted, as far as the reports tell.
  bool over_ = false;         ///< Finished, and the last snapshot is durable in every stage.
  bool diverged_ = false;     ///< The open step cannot be closed.
  bool had_history_ = false;  ///< A step was open in this swarm, as far as this node knows.

  uint64_t step_ = 0;
  std::unique_ptr<routing::StepLedger> ledger_;
  std::vector<StageProgress> stages_;
  uint64_t computed_on_ = 0;            ///< Updates in the parameters that serve the open step.
  std::optional<ClosingStep> pending_;  ///< Closed, not yet committed.
  std::deque<OpenPeriod> ahead_;        ///< Asynchronous mode: periods after step_, ascending.
  std::vector<Staleness>
      staleness_;                ///< Asynchronous mode: by stage, since the last line of metrics.
  std::vector<int> last_tries_;  ///< Of the last averaging, by stage.
  bool last_round_ = false;      ///< Every period is done; the last averaging runs.
  std::deque<WaitingLease> waiting_leases_;
  TimePoint opened_at_{};
  uint64_t rounds_ = 0;
  uint32_t gatherings_ = 0;  ///< In this term.
  uint64_t last_save_ = 0;   ///< Snapshot asked for last; 0: none by this coordinator.
  bool save_overdue_ = false;
  TimePoint last_save_at_{};
  double last_loss_ = 0, tokens_per_second_ = 0;
  std::array<uint64_t, kTrafficClasses> bytes_before_{};
};

}  // namespace swarm::actors
