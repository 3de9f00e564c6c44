// Coordinator, asynchronous mode (docs/asynchronous.md): overlapping periods, the averaging of
// weights.
#include <algorithm>

#include "actors/coordinator/coordinator_state.h"
#include "actors/net/local.h"
#include "common/hex.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using Verdict = proto::RegisterPeerReply;

/// The last averaging makes replicas equal: it is tried this often, at this distance.
constexpr int kLastRounds = 5;
constexpr milliseconds kLastRoundPause{200};

}  // namespace

routing::StepLedger* CoordinatorState::ledger_of(uint64_t step) {
  if (step == step_) return ledger_.get();
  for (auto& period : ahead_)
    if (period.step == step) return period.ledger.get();
  return nullptr;
}

std::vector<routing::StepLedger*> CoordinatorState::ledgers() {
  std::vector<routing::StepLedger*> all;
  if (ledger_) all.push_back(ledger_.get());
  for (auto& period : ahead_) all.push_back(period.ledger.get());
  return all;
}

void CoordinatorState::open_next_period() {
  uint64_t next = ahead_.empty() ? step_ + 1 : ahead_.back().step + 1;
  if (next >= deps_.training.steps || ahead_.size() + 1 >= kOpenPeriods || last_round_) return;
  ahead_.push_back({next, make_ledger(next)});
}

bool CoordinatorState::averaging() const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [](const auto& stage) { return stage.at == StageProgress::At::kAveraging; });
}

void CoordinatorState::advance_periods() {
  while (phase_ == Phase::kOpen && ledger_ && ledger_->full()) {
    if (nothing_counts()) return diverge();
    bool last = step_ + 1 == deps_.training.steps;
    if (last && averaging()) return;  // the last round is for all of it
    close_period();
  }
  if (phase_ != Phase::kOpen || !last_round_ || averaging()) return;
  last_round_ = false;
  ask_who_missed_the_last_round();
  open_step(deps_.training.steps);
}

/// Who failed it, or came in while it ran, fetches what the others of its stage have.
void CoordinatorState::ask_who_missed_the_last_round() {
  using Kind = routing::MemberAnswer::Kind;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage) {
    std::set<PeerId> have;
    for (const auto& [id, answer] : stages_[stage].answers)
      if (answer == Kind::kAveraged) have.insert(id);
    if (have.empty()) continue;
    for (const PeerId& id : serving_peers(stage)) {
      if (have.count(id) != 0) continue;
      Peer& peer = peers_.at(id);
      peer.serving = false;
      ask_to_register(peer, "it has missed the last averaging");
    }
  }
}

/// The oldest period is done: its line of metrics, its averaging, and on to the next.
void CoordinatorState::close_period() {
  const auto& training = deps_.training;
  uint64_t next = step_ + 1;
  ClosingStep closing;
  closing.step = closing.computed_on = step_;
  closing.ledger = std::move(ledger_);
  closing.opened_at = opened_at_;
  closing.closed_at = now();
  write_metrics(closing, 0);
  uint64_t every = training.sync_every == 0 ? 1 : training.sync_every / training.batch;
  bool last = next == training.steps;
  bool average = next % every == 0;
  opened_at_ = now();
  if (last) return begin_last_round();
  bool save = decide_save(next);
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    end_period(stage, closing.step, average, save);
  if (ahead_.empty()) open_next_period();
  step_ = computed_on_ = ahead_.front().step;
  ledger_ = std::move(ahead_.front().ledger);
  ahead_.pop_front();
  serve_waiting_leases();
}

/// What it leaves behind is saved when all are done: replicas' last snapshots are equal.
void CoordinatorState::begin_last_round() {
  last_round_ = true;
  last_tries_.assign(deps_.num_stages, 1);
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    end_period(stage, deps_.training.steps - 1, true, false);
}

/// After a takeover at the end: the coordinator before may have died in the last averaging.
bool CoordinatorState::resume_last_round(uint64_t step) {
  if (!asynchronous() || step < deps_.training.steps) return false;
  bool equal = true;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage) {
    std::set<uint64_t> checksums;
    for (const PeerId& id : serving_peers(stage)) checksums.insert(peers_.at(id).checksum);
    equal &= checksums.size() == 1 && *checksums.begin() != 0;
  }
  if (equal) return false;
  enter_step(deps_.training.steps - 1);
  begin_last_round();
  return true;
}

void CoordinatorState::end_period(uint32_t stage, uint64_t period, bool average, bool save) {
  StageProgress& progress = stages_[stage];
  if (average && progress.at == StageProgress::At::kAveraging) {
    record(records::AveragingSkipped{"the one before still runs"}, stage);
    average = false;
  }
  const auto members = serving_peers(stage);
  proto::EndPeriod message;
  message.set_term(term_);
  message.set_period(period);
  message.set_save_checkpoint(save);
  message.set_blocking(!deps_.training.background_averaging || period + 1 == deps_.training.steps);
  uint64_t round = 0;
  if (average) {
    progress = StageProgress{};
    progress.at = StageProgress::At::kAveraging;
    progress.round = round = (term_ << 32) | ++rounds_;
    message.set_round(round);
    for (const PeerId& id : members) {
      const Peer& peer = peers_.at(id);
      *message.add_members() = to_proto(id, peer.address.endpoint, peer.address.node_name);
      progress.answers[id] = routing::MemberAnswer::Kind::kPending;
    }
  }
  Mail mail = make_mail(std::move(message), {}, kRoundBudget);
  for (const PeerId& id : members) {
    Peer& peer = peers_.at(id);
    if (!peer.proxy) {
      if (average) progress.answers[id] = routing::MemberAnswer::Kind::kFailed;
      continue;
    }
    ask_member(stage, round, id, mail, [this, stage, round, id](Result<Mail> reply) {
      period_answered(stage, round, id, std::move(reply));
    });
  }
  if (!average || any_pending(progress)) return;
  self_->send(self_, run_later_atom::value, LocalTask([this, stage, round] {  // nobody was asked
                if (phase_ == Phase::kOpen && stages_[stage].round == round) round_over(stage);
              }));
}

bool CoordinatorState::any_pending(const StageProgress& progress) {
  return std::any_of(progress.answers.begin(), progress.answers.end(), [](const auto& one) {
    return one.second == routing::MemberAnswer::Kind::kPending;
  });
}

void CoordinatorState::period_answered(uint32_t stage, uint64_t round, const PeerId& id,
                                       Result<Mail> reply) {
  if (phase_ != Phase::kOpen) return;
  if (!reply && reply.code() == ErrorCode::kStaleTerm)
    return step_down("a peer follows a newer term");
  using Kind = routing::MemberAnswer::Kind;
  if (reply) {
    const auto& head = reply->as<proto::EndPeriodReply>();
    staleness_.resize(deps_.num_stages);
    staleness_[stage].merge(Staleness::from(head));
    if (auto peer = peers_.find(id); peer != peers_.end()) {
      peer->second.bytes_sent.assign(head.bytes_sent().begin(), head.bytes_sent().end());
      peer->second.checksum = head.checksum();
      peer->second.checksum_step = head.checksum() != 0 ? round : 0;
    }
  }
  StageProgress& progress = stages_[stage];
  auto member = progress.answers.find(id);
  bool expected = round != 0 && progress.round == round && member != progress.answers.end() &&
                  progress.at == StageProgress::At::kAveraging;
  if (!expected) return;
  member->second = reply ? Kind::kAveraged : Kind::kFailed;
  if (reply) {
    const auto& head = reply->as<proto::EndPeriodReply>();
    record(records::MemberAveraged{name_of(id), records::seconds_as_millis(head.round_s()),
                                   records::seconds_as_millis(head.stall_s())},
           stage);
  } else {
    record(records::MemberFailed{name_of(id), reply.error()}, stage);
  }
  if (!any_pending(progress)) round_over(stage);
}

/// The actor is gone, maybe without its link: its answer may never come.
void CoordinatorState::member_gone(uint32_t stage, const PeerId& id) {
  StageProgress& progress = stages_[stage];
  auto member = progress.answers.find(id);
  bool pending = progress.at == StageProgress::At::kAveraging && member != progress.answers.end() &&
                 member->second == routing::MemberAnswer::Kind::kPending;
  if (!pending) return;
  member->second = routing::MemberAnswer::Kind::kFailed;
  if (!any_pending(progress)) round_over(stage);
}

/// Every member has answered, one way or the other.
void CoordinatorState::round_over(uint32_t stage) {
  StageProgress& progress = stages_[stage];
  bool failed = std::any_of(progress.answers.begin(), progress.answers.end(), [](const auto& one) {
    return one.second != routing::MemberAnswer::Kind::kAveraged;
  });
  if (last_round_ && failed && last_tries_[stage] < kLastRounds) {
    ++last_tries_[stage];
    self_->delayed_send(self_, kLastRoundPause, run_later_atom::value,
                        LocalTask([this, stage, round = progress.round] {
                          if (phase_ != Phase::kOpen || stages_[stage].round != round) return;
                          stages_[stage].at = StageProgress::At::kFilling;
                          end_period(stage, deps_.training.steps - 1, true, false);
                        }));
    return;
  }
  progress.at = StageProgress::At::kFilling;
  std::set<uint64_t> checksums;
  size_t replicas = 0;
  for (const auto& [id, answer] : progress.answers) {
    auto peer = peers_.find(id);
    bool averaged = answer == routing::MemberAnswer::Kind::kAveraged && peer != peers_.end() &&
                    peer->second.checksum_step == progress.round;
    if (!averaged) continue;
    ++replicas;
    checksums.insert(peer->second.checksum);
  }
  records::ReplicasDiffer differ;
  for (uint64_t checksum : checksums) differ.checksums.push_back({checksum});
  if (checksums.size() == 1)
    record(records::ReplicasEqual{differ.checksums[0], replicas}, stage);
  else if (!checksums.empty())
    record(differ, stage);
  advance();
}

/// A peer that is a period behind takes part; one further behind fetches a neighbour's state. What
/// it has fetched will do, however long that took.
proto::RegisterPeerReply CoordinatorState::verdict_while_periods(const PeerId& id, Peer& peer) {
  const bool over = step_ >= deps_.training.steps;  // then replicas are equal
  const bool fetched = !over && peer.fetch_from && peer.step + 1 >= *peer.fetch_from;
  bool near = peer.has_state && (peer.step + (over ? 0 : 1) >= step_ || fetched);
  if (over && !near) {  // if others have not missed the last averaging, it has
    const auto serving = serving_peers(peer.stage);
    peer.serving &= std::none_of(serving.begin(), serving.end(), [this](const PeerId& other) {
      return peers_.at(other).step >= step_;
    });
  }
  if (over && near && !peer.serving) {
    Bits bits = compare_bits(id, peer);
    if (bits == Bits::kOther) return fetch_verdict(peer, "it has missed the last averaging");
    if (bits == Bits::kNotKnown) return wait_verdict(100, "its replicas have not reported yet");
  }
  if (!near && !peer.serving) {
    peer.fetch_from = step_;
    return fetch_verdict(
        peer, peer.has_state ? "behind, at period " + std::to_string(peer.step) : "no state yet");
  }
  peer.fetch_from.reset();
  if (!peer.serving) admit(id, peer);
  Verdict verdict;
  verdict.set_verdict(Verdict::VERDICT_SERVE);
  verdict.set_step(step_);
  verdict.set_open_step(step_);
  verdict.set_keep_held(true);
  verdict.set_reason("at period " + std::to_string(step_));
  return verdict;
}

}  // namespace swarm::actors
