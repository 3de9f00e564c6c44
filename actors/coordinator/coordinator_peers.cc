// Coordinator, peers: registration, takeover, recovery. Which step the swarm goes on from is
// decided in routing/membership/recovery.h.
#include <algorithm>
#include <caf/send.hpp>

#include "actors/coordinator/coordinator_state.h"
#include "actors/net/local.h"
#include "actors/net/log.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using Verdict = proto::RegisterPeerReply;

/// A peer that is known but does not report is waited for this long: as long as a link may be
/// silent before it counts as lost.
constexpr double kReportPatience_s = 5.0;
/// Half of the swarm or less waits this long for the others: the network may be divided, and what
/// both parts do apart is done twice. Then it goes on, since the others may be gone for good.
constexpr double kMinorityPatience_s = 20.0;

}  // namespace

Verdict CoordinatorState::wait_verdict(uint32_t retry_after_ms, const std::string& reason) {
  Verdict verdict;
  verdict.set_verdict(Verdict::VERDICT_WAIT);
  verdict.set_retry_after_ms(retry_after_ms);
  verdict.set_reason(reason);
  return verdict;
}

caf::result<Mail> CoordinatorState::on_register(const Mail& mail) {
  const auto& message = mail.as<proto::RegisterPeer>();
  auto address = from_proto(message.peer());
  if (!address) return to_caf(address.error());
  if (message.stage() >= deps_.num_stages)
    return to_caf(ErrorCode::kInvalidArgument,
                  "there are " + std::to_string(deps_.num_stages) + " stages");
  if (message.foreign_term() >= term_) raise_term(message.foreign_term());
  PeerId id = address->id;
  end_its_predecessors(id);
  auto [it, is_new] = peers_.try_emplace(id);
  Peer& peer = it->second;
  peer.address = *address;
  peer.stage = message.stage();
  update_peer(peer, message);
  if (is_new) {
    last_newcomer_at_ = now();
    self_->request(deps_.links, milliseconds(5'000), resolve_atom::value, id, address->endpoint)
        .then(
            [this, id](const caf::actor& proxy) {
              auto found = peers_.find(id);
              if (found != peers_.end()) found->second.proxy = proxy;
            },
            [](const caf::error&) {});
  }
  if (over_) save_late(id, peer);
  auto verdict = phase_ == Phase::kGathering ? verdict_while_gathering(id, peer)
                                             : verdict_while_open(id, peer);
  verdict.set_term(term_);
  verdict.set_min_attempt(attempt_base());
  verdict.set_peers(static_cast<uint32_t>(std::count_if(
      peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.reported; })));
  return make_mail(std::move(verdict));
}

/// A node's link stays up when one of its actors is started again: the actor before it is gone.
void CoordinatorState::end_its_predecessors(const PeerId& id) {
  std::vector<PeerId> before;
  for (const auto& [other, peer] : peers_)
    if (other != id && same_role(other, id)) before.push_back(other);
  for (const PeerId& other : before) peer_gone(other, "its role was started again");
}

/// All who knew of earlier terms were gone when this one took over: rounds and attempts must not
/// get the numbers of theirs.
void CoordinatorState::raise_term(uint64_t seen) {
  term_ = seen + 1;
  gatherings_ = 0;
  record(records::CoordinatorActive{term_});
  log_info("event=raises_term term=" + std::to_string(term_));
  publish_record();
  start_gathering("a peer has followed term " + std::to_string(seen));
}

void CoordinatorState::update_peer(Peer& peer, const proto::RegisterPeer& message) {
  peer.reported = true;
  peer.snapshots.assign(message.snapshots().begin(), message.snapshots().end());
  if (peer.commit_pending) return;  // this report is older than the commit's answer will be
  peer.has_state = message.has_state();
  peer.step = message.step();
  peer.checksum = message.checksum();
  peer.checksum_step = peer.has_state ? peer.step : ~uint64_t{0};
  peer.swarm_peers = message.swarm_peers();
  peer.open_step = message.open_step();
  peer.held.clear();
  peer.losses.clear();
  for (const auto& held : message.held()) {
    peer.held.emplace_back(held.slot(), held.attempt());
    if (held.samples() > 0) peer.losses.push_back(held);
  }
  peer.has_average = message.has_average();
  peer.round = message.round();
  peer.last_gradient_norm = message.last_gradient_norm();
}

proto::RegisterPeerReply CoordinatorState::fetch_verdict(const Peer& peer,
                                                         const std::string& reason) const {
  Verdict verdict;
  verdict.set_step(step_);
  verdict.set_reason(reason);
  for (const PeerId& id : serving_peers(peer.stage)) {
    const Peer& source = peers_.at(id);
    if (&source == &peer) continue;
    *verdict.add_sources() = to_proto(id, source.address.endpoint, source.address.node_name);
  }
  verdict.set_verdict(verdict.sources_size() > 0 ? Verdict::VERDICT_FETCH : Verdict::VERDICT_WAIT);
  // After the end nobody gathers: a stage without peers comes back from its last snapshot.
  bool stored = std::count(peer.snapshots.begin(), peer.snapshots.end(), step_) != 0;
  if (phase_ == Phase::kFinished && verdict.sources_size() == 0 && stored)
    verdict.set_verdict(Verdict::VERDICT_RESTORE);
  verdict.set_retry_after_ms(200);
  return verdict;
}

/// Replicas that trained apart from one another have the same step and other bits.
CoordinatorState::Bits CoordinatorState::compare_bits(const PeerId& id, const Peer& peer) const {
  Bits result = Bits::kEqual;
  for (const PeerId& other : serving_peers(peer.stage)) {
    const Peer& replica = peers_.at(other);
    if (other == id || replica.checksum == 0) continue;  // 0: has trained since it was computed
    if (replica.checksum_step == peer.step)
      return replica.checksum == peer.checksum ? Bits::kEqual : Bits::kOther;
    result = Bits::kNotKnown;  // its commit is under way
  }
  return result;
}

/// It has trained where this coordinator was not heard. If every stage has such a peer their
/// history is the longer one; they may register one after the other.
proto::RegisterPeerReply CoordinatorState::verdict_for_one_ahead(Peer& peer) {
  if (!peer.ahead_since) peer.ahead_since = now();
  std::vector<routing::PeerSupply> supplies;
  for (const auto& [id, one] : peers_)
    if (one.reported) supplies.push_back({id, one.stage, one.has_state, one.step, {}});
  auto longer = routing::longer_history(supplies, deps_.num_stages, applied());
  if (longer) start_gathering("others have trained on to step " + std::to_string(*longer));
  auto patience = 2 * deps_.dht_options.announce_every + milliseconds(1'000);
  if (!longer && now() - *peer.ahead_since > patience)
    return fetch_verdict(peer, "alone with step " + std::to_string(peer.step));
  return wait_verdict(100, "it is ahead, at step " + std::to_string(peer.step));
}

proto::RegisterPeerReply CoordinatorState::verdict_while_open(const PeerId& id, Peer& peer) {
  if (asynchronous()) return verdict_while_periods(id, peer);
  bool there = peer.has_state && peer.step == applied() && peer.open_step == step_;
  bool in_step = peer.commit_pending || there;
  bool ahead = !in_step && peer.has_state && peer.step > applied();
  if (!ahead) peer.ahead_since.reset();
  if (there && !peer.serving && !peer.commit_pending) {
    Bits bits = compare_bits(id, peer);
    if (bits == Bits::kOther) return fetch_verdict(peer, "other bits than its replicas have");
    if (bits == Bits::kNotKnown) return wait_verdict(50, "its replicas apply an update");
  }
  if (!in_step) {
    peer.serving = false;
    if (phase_ == Phase::kOpen && serving_peers(peer.stage).empty()) {  // nobody to fetch from
      start_gathering("stage " + std::to_string(peer.stage) + " has no peer at step " +
                      std::to_string(step_));
      return verdict_while_gathering(id, peer);
    }
    if (ahead && phase_ == Phase::kOpen) return verdict_for_one_ahead(peer);
    if (step_ != applied())  // it could not apply the update under way: the step after may
      return wait_verdict(100, "an update is under way");
    return fetch_verdict(
        peer, peer.has_state ? "behind, at step " + std::to_string(peer.step) : "no state yet");
  }
  Verdict verdict;
  verdict.set_verdict(Verdict::VERDICT_SERVE);
  verdict.set_step(peer.step);
  verdict.set_open_step(peer.open_step);
  verdict.set_keep_held(peer.serving || peer.commit_pending || admit(id, peer));
  verdict.set_reason("at step " + std::to_string(peer.step));
  return verdict;
}

/// The open step as this peer knows it.
void CoordinatorState::rebuild_ledger(const PeerId& id, const Peer& peer) {
  ledger_->rebuild(id, peer.stage, peer.held);
  for (const auto& slot : peer.losses)
    ledger_->rebuild_loss(slot.slot(), slot.loss_sum(), slot.samples());
}

/// A peer enters the open step. True if what it holds of it counts.
bool CoordinatorState::admit(const PeerId& id, Peer& peer) {
  peer.serving = true;
  record(records::PeerAdmitted{peer.address.node_name}, peer.stage);
  if (asynchronous()) return true;  // what it holds is in its weights
  if (peer.held.empty()) {
    ledger_->peer_lost(id, /*may_return=*/true);  // attempts leased before do not count for it
    return true;
  }
  rebuild_ledger(id, peer);
  std::set<uint32_t> held;
  for (const auto& [slot, attempt] : peer.held) held.insert(slot);
  auto counted = ledger_->counted(peer.stage)[id];
  if (std::set<uint32_t>(counted.begin(), counted.end()) == held) return true;
  ledger_->peer_lost(id, /*may_return=*/true);
  return false;
}

void CoordinatorState::start_gathering(const std::string& reason) {
  if (phase_ != Phase::kGathering) applied_before_ = applied();
  phase_ = Phase::kGathering;
  over_ = false;
  last_save_ = 0;  // what was asked for before may never come
  ++gatherings_;
  gathering_reason_ = reason;
  gathering_since_ = last_newcomer_at_ = now();
  plan_.reset();
  ledger_.reset();
  ahead_.clear();
  last_round_ = false;
  stages_.clear();
  pending_.reset();
  for (auto& [id, peer] : peers_) {
    peer.serving = peer.commit_pending = peer.reported = false;
    peer.ahead_since.reset();
    peer.fetch_from.reset();
    ask_to_register(peer, reason);
  }
}

void CoordinatorState::ask_to_register(const Peer& peer, const std::string& reason) {
  if (!peer.proxy) return;
  proto::Restore message;
  message.set_term(term_);
  message.set_step(step_);
  message.set_reason(reason);
  caf::anon_send(peer.proxy, make_mail(std::move(message)));
}

proto::RegisterPeerReply CoordinatorState::verdict_while_gathering(const PeerId& id, Peer& peer) {
  Verdict verdict = wait_verdict(100, "the swarm gathers: " + gathering_reason_);
  if (!plan_) return verdict;
  verdict.set_step(plan_->step);
  verdict.set_open_step(plan_->step);
  auto action = plan_->actions.find(id);
  bool planned = action != plan_->actions.end();
  bool there =
      asynchronous() ? planned && peer.step + 1 >= action->second.step : peer.step == plan_->step;
  if (peer.has_state && there) {
    if (!asynchronous() && !peer.serving && compare_bits(id, peer) == Bits::kOther) {
      auto fetch = fetch_verdict(peer, "other bits than its replicas have");
      fetch.set_step(plan_->step);
      return fetch;
    }
    peer.serving = true;
    // The ledger of the step is rebuilt from what is held when the step opens.
    verdict.set_verdict(Verdict::VERDICT_SERVE);
    verdict.set_keep_held(true);
    verdict.set_reason("the swarm goes on from step " + std::to_string(plan_->step));
    try_to_open();
    if (phase_ == Phase::kOpen) verdict.set_keep_held(peer.serving);
    return verdict;
  }
  using Kind = routing::RecoveryAction::Kind;
  if (!planned) return verdict;  // came too late: fetches once the step is open
  uint64_t load = action->second.step;
  verdict.set_step(load);
  switch (action->second.kind) {
    case Kind::kInitialise:
      verdict.set_verdict(Verdict::VERDICT_INITIALIZE);
      break;
    case Kind::kRestoreOwn:
      if (std::count(peer.snapshots.begin(), peer.snapshots.end(), load) == 0)
        plan_.reset();  // it turned out to be corrupt: plan with what is left
      else
        verdict.set_verdict(Verdict::VERDICT_RESTORE);
      break;
    case Kind::kServe:
      plan_.reset();  // it was at the step and no longer is: plan anew
      break;
    case Kind::kFetch:
      for (const PeerId& source : action->second.sources) {
        auto found = peers_.find(source);
        if (found == peers_.end()) continue;
        *verdict.add_sources() =
            to_proto(source, found->second.address.endpoint, found->second.address.node_name);
      }
      verdict.set_exact(true);
      verdict.set_verdict(Verdict::VERDICT_FETCH);
      break;
  }
  return verdict;
}

void CoordinatorState::try_to_plan() {
  if (plan_) return try_to_open();
  std::vector<uint32_t> per_stage(deps_.num_stages, 0);
  std::vector<routing::PeerSupply> supplies;
  bool any_state = false;
  bool patient = since(gathering_since_) < kReportPatience_s;
  for (const auto& [id, peer] : peers_) {
    if (!peer.reported) {  // what it said before may be true no more
      waiting_for_ = "waiting for a word of " + peer.address.node_name;
      if (patient) return;
      continue;
    }
    ++per_stage[peer.stage];
    any_state |= peer.has_state;
    supplies.push_back({id, peer.stage, peer.has_state, peer.step, peer.snapshots});
  }
  if (few_peers_are_here(supplies)) return;
  uint32_t needed = any_state ? 1 : deps_.training.min_peers_per_stage;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage) {
    if (per_stage[stage] >= needed) continue;
    waiting_for_ = "waiting for " + std::to_string(needed - per_stage[stage]) +
                   " more peers of stage " + std::to_string(stage);
    return;
  }
  auto quiet = any_state ? deps_.options.takeover_grace : deps_.options.start_grace;
  if (now() - last_newcomer_at_ < quiet) {
    waiting_for_ = "waiting for newcomers to cease";
    return;
  }
  if (!asynchronous() && finish_half_committed_step()) return;
  auto plan = asynchronous() ? routing::plan_asynchronous_recovery(supplies, deps_.num_stages)
                             : routing::plan_recovery(supplies, deps_.num_stages);
  if (!plan) {
    if (waiting_for_ != plan.error().detail) record(records::CannotGoOn{plan.error()});
    waiting_for_ = plan.error().detail;
    return;
  }
  if (plan->fresh && had_history_) {
    waiting_for_ = "every peer has lost its state; waiting for one that has a snapshot";
    return;
  }
  if (plan->step == 0 && supplies.size() < deps_.training.min_peers) {
    waiting_for_ = "waiting for " + std::to_string(deps_.training.min_peers - supplies.size()) +
                   " more peers to begin at step 0 (training.min_peers)";
    return;
  }
  plan_ = std::move(*plan);
  record_recovery(*plan_, supplies.size());
  for (const auto& [id, peer] : peers_) ask_to_register(peer, gathering_reason_);
}

/// True while half of the swarm or less is here and the others are waited for.
bool CoordinatorState::few_peers_are_here(const std::vector<routing::PeerSupply>& supplies) {
  uint64_t newest = 0;
  swarm_peers_ = 0;
  for (const auto& [id, peer] : peers_) {
    if (!peer.reported || !peer.has_state || peer.swarm_peers == 0 || peer.step < newest) continue;
    swarm_peers_ = peer.step > newest ? peer.swarm_peers : std::max(swarm_peers_, peer.swarm_peers);
    newest = peer.step;
  }
  bool few = 2 * supplies.size() <= swarm_peers_;
  if (!few || since(gathering_since_) >= kMinorityPatience_s) return false;
  waiting_for_ = "only " + std::to_string(supplies.size()) + " of " + std::to_string(swarm_peers_) +
                 " peers are here; waiting a while for the others";
  return true;
}

/// Says when a step number may go back: a stage has lost its state, this coordinator has met
/// another history, peers have got further but not in every stage, or some are missing that may
/// have.
void CoordinatorState::record_recovery(const routing::RecoveryPlan& plan, size_t present) {
  std::set<uint32_t> in_memory;  // stages that have the step without reading a disk
  for (const auto& [id, action] : plan.actions)
    if (action.kind == routing::RecoveryAction::Kind::kServe) in_memory.insert(peers_.at(id).stage);
  step_ = plan.step;  // the event is about the step that the swarm goes on from
  bool read = in_memory.size() < deps_.num_stages;
  bool other =
      applied_before_ && (plan.step < *applied_before_ || plan.step > *applied_before_ + 1);
  bool missing = present < swarm_peers_;
  uint64_t newest = plan.step;  // some have it in memory, but not every stage
  for (const auto& [id, peer] : peers_)
    if (peer.reported && peer.has_state && !asynchronous()) newest = std::max(newest, peer.step);
  if (plan.fresh || !(read || other || missing || newest > plan.step)) return;
  records::Recovered recovered;
  recovered.reason = gathering_reason_;
  if (applied_before_ || newest > plan.step)
    recovered.from_step = newest > plan.step ? newest : *applied_before_;
  if (missing) {
    recovered.peers = present;
    recovered.peers_before = swarm_peers_;
  }
  record(recovered);
}

/// After a takeover some stages may have applied the last commit and others not yet: if one has,
/// every stage had averaged, so the rest is told to commit too. True if something was sent.
bool CoordinatorState::finish_half_committed_step() {
  uint64_t newest = 0;
  double norm = 0;
  std::set<uint32_t> there;
  std::set<uint64_t> terms;  // of the rounds that led there: others are of another history
  for (const auto& [id, peer] : peers_)
    if (peer.has_state) newest = std::max(newest, peer.step);
  for (const auto& [id, peer] : peers_) {
    if (!peer.has_state || peer.step != newest) continue;
    there.insert(peer.stage);
    terms.insert(peer.round >> 32);
    norm = peer.last_gradient_norm;
  }
  if (newest == 0 || there.size() == deps_.num_stages) return false;
  std::map<uint32_t, uint64_t> last_round;  // of the stages that are one behind
  for (const auto& [id, peer] : peers_)
    if (peer.has_state && peer.step + 1 == newest && peer.has_average &&
        terms.count(peer.round >> 32) != 0)
      last_round[peer.stage] = std::max(last_round[peer.stage], peer.round);
  bool sent = false;
  for (auto& [id, peer] : peers_) {
    if (peer.commit_pending) {  // told before; its answer, or the end of its link, comes
      sent = true;
      continue;
    }
    auto round = last_round.find(peer.stage);
    bool behind = peer.has_state && peer.step + 1 == newest && peer.has_average;
    if (!behind || there.count(peer.stage) != 0 || round == last_round.end()) continue;
    if (peer.round != round->second || !peer.proxy) continue;
    proto::CommitStep commit;
    commit.set_term(term_);
    commit.set_step(peer.step);
    commit.set_round(peer.round);
    commit.set_gradient_norm(norm);
    send_commit(id, commit);
    sent = true;
  }
  if (sent) last_newcomer_at_ = now();
  return sent;
}

void CoordinatorState::try_to_open() {
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    if (serving_peers(stage).empty()) {
      waiting_for_ = "waiting for a peer of stage " + std::to_string(stage) + " at step " +
                     std::to_string(plan_->step);
      return;
    }
  // Not those that were planned with: they may follow another coordinator by now, and begin there.
  const auto serving = static_cast<size_t>(std::count_if(
      peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.serving; }));
  if (plan_->step == 0 && serving < deps_.training.min_peers) {
    waiting_for_ = "waiting for " + std::to_string(deps_.training.min_peers - serving) +
                   " more peers to have drawn their weights (training.min_peers)";
    return;
  }
  const bool last_round = asynchronous() && plan_->step >= deps_.training.steps;
  if (last_round && since(gathering_since_) < kReportPatience_s) {  // it is for all who are here
    for (const auto& [id, peer] : peers_) {
      if (!peer.reported || !peer.has_state || peer.serving) continue;
      waiting_for_ = "waiting for " + peer.address.node_name + " before the last averaging";
      return;
    }
  }
  uint64_t step = plan_->step;
  plan_.reset();
  if (!resume_last_round(step)) open_step(step);
}

void CoordinatorState::peer_gone(const PeerId& id, const std::string& reason) {
  auto it = peers_.find(id);
  if (it == peers_.end()) return;
  uint32_t stage = it->second.stage;
  bool was_serving = it->second.serving;
  record(records::PeerLost{it->second.address.node_name, reason}, stage);
  peers_.erase(it);
  if (phase_ == Phase::kGathering) {
    plan_.reset();  // it may have been the source of somebody's state
    return;
  }
  if (phase_ != Phase::kOpen || !was_serving) return;
  if (serving_peers(stage).empty())
    return start_gathering("stage " + std::to_string(stage) + " has lost all its peers");
  bool in_pending = pending_ && pending_->stages[stage].at != StageProgress::At::kAveraged;
  StageProgress& progress = stages_[stage];
  if (in_pending || (progress.overlapped && progress.at == StageProgress::At::kAveraging))
    return start_gathering("a peer was lost while an update was under way");
  if (asynchronous()) return member_gone(stage, id);        // its share is in the averages, or gone
  if (progress.at == StageProgress::At::kAveraged) return;  // the others hold the average
  auto slots = ledger_->peer_lost(id, /*may_return=*/false);
  if (!slots.empty()) record(records::Recompute{slots.size()}, stage);
  auto member = progress.answers.find(id);
  if (progress.at == StageProgress::At::kAveraging && member != progress.answers.end()) {
    member->second = routing::MemberAnswer::Kind::kLost;
    judge(stage, progress);
  }
  if (phase_ == Phase::kOpen) advance();
}

std::vector<PeerId> CoordinatorState::serving_peers(uint32_t stage) const {
  std::vector<PeerId> result;
  for (const auto& [id, peer] : peers_)
    if (peer.serving && peer.stage == stage) result.push_back(id);
  return result;
}

std::vector<uint32_t> CoordinatorState::live_peers() const {
  std::vector<uint32_t> result;
  for (uint32_t stage = 0; stage < deps_.num_stages; ++stage)
    result.push_back(static_cast<uint32_t>(serving_peers(stage).size()));
  return result;
}

}  // namespace swarm::actors
