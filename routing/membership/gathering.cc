#include "routing/membership/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "routing/membership/replicas.h"
#include "routing/membership/term.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;

/// Where the newest commit is: its step, who has applied it, and what those who have not need.
struct NewestCommit {
  Step step;
  double gradient_norm = 0;
  std::set<Stage> stages;  ///< That have a peer there.
  /// Of the rounds that led there, the last one of each, and what it led to: others are of another
  /// history.
  std::map<Term, std::pair<Round, History>> terms;
};

/// Without the peers of `barred`.
NewestCommit newest_commit(const Roster& roster, const std::set<NodeId>& barred) {
  NewestCommit newest;
  for (const auto& [id, peer] : roster.peers())
    if (peer.has_state && barred.count(id.node) == 0)
      newest.step = std::max(newest.step, peer.step);
  for (const auto& [id, peer] : roster.peers()) {
    if (!peer.has_state || peer.step != newest.step || barred.count(id.node) != 0) continue;
    newest.stages.insert(peer.stage);
    if (peer.state_came) continue;
    auto& last = newest.terms[term_of(peer.round)];
    last = std::max(last, std::pair(peer.round, peer.history));
    newest.gradient_norm = peer.last_gradient_norm;
  }
  return newest;
}

bool one_behind(const PeerFacts& peer, const NewestCommit& newest) {
  return peer.has_state && peer.step + 1 == newest.step && peer.has_average;
}

bool has_later_snapshot(const PeerSupply& peer) {
  return std::any_of(peer.snapshots.begin(), peer.snapshots.end(),
                     [](Step step) { return step > Step(0); });
}

}  // namespace

Orders Gathering::begin(const std::string& reason, std::optional<Step> applied, Time now) {
  if (!gathers_) applied_before_ = applied;
  gathers_ = true;
  ++count_;
  reason_ = reason;
  since_ = last_newcomer_at_ = now;
  plan_.reset();
  Orders out;
  for (auto& [id, peer] : roster_.peers()) {
    peer.serving = peer.commit_pending = peer.reported = false;
    peer.ahead_since.reset();
    peer.fetch_from.reset();
    out.push_back(orders::AskToRegister{id, reason});
  }
  return out;
}

void Gathering::stop() {
  gathers_ = false;
  plan_.reset();
}

void Gathering::opened() {
  gathers_ = false;
  had_history_ = true;
  plan_.reset();
}

std::optional<Step> Gathering::planned_step() const {
  if (!plan_) return std::nullopt;
  return plan_->step;
}

const RecoveryAction* Gathering::action_of(const PeerId& id) const {
  auto action = plan_->actions.find(id);
  return action == plan_->actions.end() ? nullptr : &action->second;
}

// -- planning

Orders Gathering::next(Time now) {
  if (!plan_) {
    Orders out = make_plan(now);
    if (!plan_) return out;
    for (const auto& [id, peer] : roster_.peers())
      out.push_back(orders::AskToRegister{id, reason_});
    return out;
  }
  return open(now);
}

Orders Gathering::make_plan(Time now) {
  Orders out;
  const Supplies supplies = possible_supplies();
  count_swarm();
  auto wait = unreported(now);
  if (!wait) wait = options_.consent ? unanswered() : too_few(supplies, now);
  if (!wait) wait = not_yet(supplies, now);
  if (wait) {
    waiting_for_ = *wait;
    return out;
  }
  if (half_committed(out)) {
    last_newcomer_at_ = now;
    return out;
  }
  auto made = plan(supplies);
  if (!made) {
    if (waiting_for_ != made.error().detail)
      out.push_back(orders::Note{std::nullopt, applied_before_.value_or(Step()),
                                 facts::CannotGoOn{made.error()}});
    waiting_for_ = made.error().detail;
  } else if (made->fresh && had_history_) {
    waiting_for_ = "every peer has lost its state; waiting for one that has a snapshot";
  } else if (made->step == Step(0) && supplies.size() < options_.min_peers) {
    waiting_for_ = fmt::format("waiting for {} more peers to begin at step 0 (training.min_peers)",
                               options_.min_peers - supplies.size());
  } else {
    plan_ = std::move(*made);
    if (auto recovered = recovery(supplies.size()))
      out.push_back(orders::Note{std::nullopt, plan_->step, std::move(*recovered)});
  }
  return out;
}

/// Who is known and has not reported: what it said before may be true no more.
std::optional<std::string> Gathering::unreported(Time now) const {
  if (now - since_ >= options_.report_patience) return std::nullopt;
  for (const auto& [id, peer] : roster_.peers())
    if (!peer.reported) return "waiting for " + peer.node_name + " to register";
  return std::nullopt;
}

/// How many peers there were, as those of the newest step say.
void Gathering::count_swarm() {
  Step newest;
  swarm_peers_ = 0;
  for (const auto& [id, peer] : roster_.peers()) {
    if (!peer.reported || !peer.has_state || peer.swarm_peers == 0 || peer.step < newest) continue;
    swarm_peers_ = peer.step > newest ? peer.swarm_peers : std::max(swarm_peers_, peer.swarm_peers);
    newest = peer.step;
  }
}

/// While half of the swarm or less is here the others are waited for.
std::optional<std::string> Gathering::too_few(const Supplies& supplies, Time now) const {
  const bool few = 2 * supplies.size() <= swarm_peers_;
  if (!few || now - since_ >= options_.minority_patience) return std::nullopt;
  return fmt::format("only {} of {} peers are here; waiting a while for the others",
                     supplies.size(), swarm_peers_);
}

/// More than half of all that have a vote are to be here, for however long it takes.
std::optional<std::string> Gathering::unanswered() const {
  std::string wait = options_.consent->waits_for();
  return wait.empty() ? std::nullopt : std::make_optional(std::move(wait));
}

std::set<NodeId> Gathering::barred() const {
  return options_.consent ? options_.consent->attendance().barred() : std::set<NodeId>();
}

/// Without the states of a history that was given up: they are of later steps than the swarm has come to,
/// or of a line that does not go on.
Gathering::Supplies Gathering::possible_supplies() const {
  Supplies supplies = roster_.supplies();
  const std::set<NodeId> barred = this->barred();
  for (PeerSupply& peer : supplies) {
    if (barred.count(peer.peer.node) == 0) continue;
    peer.has_state = false;
    peer.snapshots.clear();
  }
  const auto newest =
      options_.consent && same_bits() ? options_.consent->newest_possible() : std::optional<Step>();
  if (!newest) return supplies;
  for (PeerSupply& peer : supplies) {
    peer.has_state &= peer.step <= *newest;
    const auto later = [&](Step step) { return *newest < step; };
    peer.snapshots.erase(std::remove_if(peer.snapshots.begin(), peer.snapshots.end(), later),
                         peer.snapshots.end());
    const auto copied_later = [&](const StoredCopy& copy) { return later(copy.step); };
    peer.copies.erase(std::remove_if(peer.copies.begin(), peer.copies.end(), copied_later),
                      peer.copies.end());
  }
  return supplies;
}

std::optional<std::string> Gathering::not_yet(const Supplies& supplies, Time now) const {
  std::vector<uint32_t> per_stage(roster_.num_stages(), 0);
  bool any_state = false;
  for (const PeerSupply& peer : supplies) {
    ++per_stage[peer.stage.value()];
    any_state |= peer.has_state;
  }
  const uint32_t needed = any_state ? 1 : options_.min_peers_per_stage;
  for (Stage stage; stage.value() < per_stage.size(); ++stage)
    if (per_stage[stage.value()] < needed)
      return fmt::format("waiting for {} more peers of stage {}", needed - per_stage[stage.value()],
                         stage);
  const Time quiet = any_state ? options_.takeover_grace : options_.start_grace;
  if (now - last_newcomer_at_ < quiet) return "waiting until no more newcomers come";
  return std::nullopt;
}

/// Says when a step number may go back: a stage has lost its state, this coordinator has met
/// another history, peers have got further but not in every stage, or some are missing that may
/// have.
std::optional<facts::Recovered> Gathering::recovery(size_t present) const {
  std::set<Stage> in_memory;  // stages that have the step without reading a disk
  for (const auto& [id, action] : plan_->actions)
    if (action.kind == RecoveryAction::Kind::kServe) in_memory.insert(roster_.peers().at(id).stage);
  const bool read = in_memory.size() < roster_.num_stages();
  const bool other =
      applied_before_ && (plan_->step < *applied_before_ || plan_->step > *applied_before_ + 1);
  const bool missing = present < swarm_peers_;
  Step newest = plan_->step;  // some have it in memory, but not every stage
  for (const auto& [id, peer] : roster_.peers())
    if (peer.reported && peer.has_state && same_bits()) newest = std::max(newest, peer.step);
  if (plan_->fresh || !(read || other || missing || newest > plan_->step)) return std::nullopt;
  facts::Recovered note;
  if (newest > plan_->step)
    note.from_step = newest;
  else
    note.from_step = applied_before_;
  if (missing) {
    note.present = present;
    note.before = swarm_peers_;
  }
  note.reason = reason_;
  return note;
}

bool Gathering::half_committed(Orders& out) {
  const std::set<NodeId> barred = this->barred();
  const NewestCommit newest = newest_commit(roster_, barred);
  if (newest.step == Step(0) || newest.stages.size() == roster_.num_stages()) return false;
  std::map<Stage, Round> last_round;  // of the stages that are one behind
  for (const auto& [id, peer] : roster_.peers())
    if (one_behind(peer, newest) && newest.terms.count(term_of(peer.round)) != 0)
      last_round[peer.stage] = std::max(last_round[peer.stage], peer.round);
  bool under_way = false;
  for (auto& [id, peer] : roster_.peers()) {
    under_way |= peer.commit_pending;  // told before; its answer, or the end of its link, comes
    const auto round = last_round.find(peer.stage);
    const bool missed = one_behind(peer, newest) && newest.stages.count(peer.stage) == 0 &&
                        round != last_round.end() && peer.round == round->second &&
                        barred.count(id.node) == 0;
    if (peer.commit_pending || !missed || !peer.reachable) continue;
    peer.commit_pending = under_way = true;
    peer.held.clear();
    orders::CommitStep commit{id, peer.step, peer.round, newest.gradient_norm};
    commit.after = newest.terms.at(term_of(peer.round)).second;
    out.push_back(std::move(commit));
  }
  return under_way;
}

Result<RecoveryPlan> Gathering::plan(const Supplies& supplies) const {
  return plan_recovery(supplies, roster_.num_stages());
}

// -- loading, and the step's opening

bool Gathering::arrived(const PeerId& id) const {
  const PeerFacts& peer = roster_.peers().at(id);
  return peer.step == plan_->step && goes_with(peer.history, plan_->history);
}

Verdict Gathering::admit(const PeerId& id) {
  PeerFacts& peer = roster_.peers().at(id);
  Verdict wait = wait_verdict(milliseconds(100), "the swarm gathers: " + reason_);
  if (!plan_) return wait;
  wait.step = wait.open_step = plan_->step;
  if (peer.has_state && arrived(id)) {
    const bool other = is_wrong(id, roster_) || Replicas(roster_).compare(id) == Bits::kOther;
    if (same_bits() && !peer.serving && other)
      return fetch_verdict(id, roster_, {plan_->step, plan_->step}, kOtherBits);
    peer.serving = true;
    // The ledger of the step is rebuilt from what is held when the step opens.
    return serve_verdict(plan_->step, plan_->step,
                         fmt::format("the swarm goes on from step {}", plan_->step));
  }
  const RecoveryAction* action = action_of(id);
  if (action == nullptr) return wait;  // came too late: fetches once the step is open
  Verdict load = load_verdict(peer, *action);
  load.word = Replicas(roster_).word_for(id, load.step);
  if (load.kind == Verdict::Kind::kFetch && peer.has_state && peer.step == load.step)
    load.reason = kOtherHistory;
  return load;
}

/// Those that are here and still have it. `live`: of its stage, and in steps those that need read no
/// disk: they go on with the state, which may be learned meanwhile.
std::vector<PeerId> Gathering::sources_of(const RecoveryAction& action, Stage stage,
                                          bool live) const {
  std::vector<PeerId> found;
  for (const PeerId& id : action.sources) {
    const PeerFacts* source = roster_.find(id);
    if (source == nullptr) continue;
    const bool in_memory = !same_bits() || (source->has_state && source->step == action.step);
    const auto is_copy = [&](const StoredCopy& copy) {
      return copy.stage == stage && copy.step == action.step;
    };
    const bool has = source->stage == stage ? !live || in_memory
                                            : !live && std::any_of(source->copies.begin(),
                                                                   source->copies.end(), is_copy);
    if (has) found.push_back(id);
  }
  return found;
}

Verdict Gathering::load_verdict(const PeerFacts& peer, const RecoveryAction& action) {
  using Kind = RecoveryAction::Kind;
  Verdict verdict = wait_verdict(milliseconds(100), "the swarm gathers: " + reason_);
  verdict.step = action.step;
  verdict.open_step = plan_->step;
  switch (action.kind) {
    case Kind::kInitialise: {
      const Supplies supplies = possible_supplies();
      if (std::none_of(supplies.begin(), supplies.end(), has_later_snapshot))
        verdict.kind = Verdict::Kind::kInitialise;
      else
        plan_.reset();  // somebody has found one since, in the mirror: nothing begins at step 0
      break;
    }
    case Kind::kRestoreOwn:
      if (std::count(peer.snapshots.begin(), peer.snapshots.end(), action.step) != 0)
        verdict.kind = Verdict::Kind::kRestoreOwn;
      else
        plan_.reset();  // it turned out to be corrupt: plan with what is left
      break;
    case Kind::kServe:
      plan_.reset();  // it was at the step and no longer is: plan anew
      break;
    case Kind::kFetch:
      verdict.sources = sources_of(action, peer.stage, /*live=*/true);
      verdict.exact = verdict.sources.empty();
      if (verdict.exact) verdict.sources = sources_of(action, peer.stage, /*live=*/false);
      verdict.from_copies =
          verdict.exact &&
          std::none_of(verdict.sources.begin(), verdict.sources.end(),
                       [&](const PeerId& id) { return roster_.find(id)->stage == peer.stage; });
      if (verdict.sources.empty())
        plan_.reset();  // who had a copy has found that it is corrupt
      else
        verdict.kind = Verdict::Kind::kFetch;
      break;
  }
  return verdict;
}

Orders Gathering::open(Time now) {
  if (auto stage = roster_.unserved_stage()) {
    waiting_for_ = fmt::format("waiting for a peer of stage {} at step {}", *stage, plan_->step);
    return {};
  }
  // Not those that were planned with: they may follow another coordinator by now, and begin there.
  const size_t serving = roster_.serving_in_all();
  if (plan_->step == Step(0) && serving < options_.min_peers) {
    waiting_for_ =
        fmt::format("waiting for {} more peers to have drawn their weights (training.min_peers)",
                    options_.min_peers - serving);
    return {};
  }
  if (auto wait = awaited(now)) {
    waiting_for_ = *wait;
    return {};
  }
  const orders::Open order{plan_->step, plan_->history};
  if (options_.consent && !options_.consent->open({order.step, order.history}, now)) {
    waiting_for_ = "waiting until more than half have stored where the swarm goes on from";
    return {};
  }
  opened();
  return {order};
}

std::optional<std::string> Gathering::awaited(Time) { return std::nullopt; }

// -- at their own pace

Result<RecoveryPlan> GatheringByPeriod::plan(const Supplies& supplies) const {
  return plan_asynchronous_recovery(supplies, roster_.num_stages());
}

bool GatheringByPeriod::arrived(const PeerId& id) const {
  const RecoveryAction* action = action_of(id);
  return action != nullptr && roster_.peers().at(id).step + 1 >= action->step;
}

/// The last averaging is for all who are here.
std::optional<std::string> GatheringByPeriod::awaited(Time now) {
  if (plan_->step.value() < options_.steps || now - since_ >= options_.report_patience)
    return std::nullopt;
  for (const auto& [id, peer] : roster_.peers())
    if (peer.reported && peer.has_state && !peer.serving)
      return "waiting for " + peer.node_name + " before the last averaging";
  return std::nullopt;
}

}  // namespace swarm::routing
