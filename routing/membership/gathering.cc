#include "routing/membership/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/erase_if.h"
#include "routing/membership/line_left.h"
#include "routing/membership/replicas.h"
#include "routing/membership/suspects.h"
#include "routing/membership/term.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;

/// Where the newest commit is: its step, who has applied it, and what those who have not need.
struct NewestCommit {
  Step step;
  double gradient_norm = 0;
  std::set<Stage> stages;  ///< That have a peer there.
  struct Commit {
    Round last;
    History after;
    std::vector<Round> rounds;  ///< By stage; empty: not known.
    /// A peer of another round has the average of one that was abandoned without it.
    bool has_round(Stage stage, Round round) const {
      return stage.value() >= rounds.size() || rounds[stage.value()] == round;
    }
  };
  /// By the terms of the rounds that led there the last one, and what it led to: others are of another history.
  std::map<Term, Commit> terms;
};

/// Without the peers of `barred`, and those that are suspect.
NewestCommit newest_commit(const Roster& roster, const std::set<PeerId>& barred) {
  const auto suspect = suspects(roster.peers());
  const auto counts = [&](const PeerId& id, const PeerFacts& peer) {
    return peer.has_state && barred.count(id) == 0 && suspect.count(id) == 0;
  };
  NewestCommit newest;
  for (const auto& [id, peer] : roster.peers())
    if (counts(id, peer)) newest.step = std::max(newest.step, peer.step);
  for (const auto& [id, peer] : roster.peers()) {
    if (!counts(id, peer) || peer.step != newest.step) continue;
    newest.stages.insert(peer.stage);
    if (peer.state_came) continue;
    auto& commit = newest.terms[term_of(peer.round)];
    if (std::pair(commit.last, commit.after) <= std::pair(peer.round, peer.history))
      commit = {peer.round, peer.history, peer.commit_rounds};
    newest.gradient_norm = peer.last_gradient_norm;
  }
  return newest;
}

/// And has the average.
bool one_behind(const PeerFacts& peer, const NewestCommit& newest) {
  const auto commit = newest.terms.find(term_of(peer.round));
  return peer.has_state && peer.step + 1 == newest.step && peer.has_average &&
         commit != newest.terms.end() && commit->second.has_round(peer.stage, peer.round);
}

/// Somebody here has left a line and has no vote yet: it may have set aside what it had.
bool gave_up(const GatheringOptions& options) {
  if (options.consent == nullptr) return false;
  const auto& nodes = options.consent->attendance().nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& one) { return one.second.forsaken; });
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
  lacks_states_ = false;
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
  const auto suspect = same_bits() ? suspects(roster_.peers()) : std::set<PeerId>();
  auto made = plan(without(suspect, supplies));
  if (!suspect.empty() && (!made || made->fresh)) made = plan(supplies);  // better than none
  lacks_states_ = !made;
  if (!made) {
    if (waiting_for_ != made.error().detail)
      out.push_back(orders::Note{std::nullopt, applied_before_.value_or(Step()),
                                 facts::CannotGoOn{made.error()}});
    waiting_for_ = made.error().detail;
  } else if (made->fresh &&
             (had_history_ || has_trained(roster_.supplies()) || gave_up(options_))) {
    lacks_states_ = true;  // who gave up its line may have what was there before it forked
    waiting_for_ = had_history_
                       ? "every peer has lost its state; waiting for one that has a snapshot"
                       : "what is here is of a line that was given up; waiting for one "
                         "that has a snapshot of the other";
  } else if (made->step == Step(0) && supplies.size() < options_.min_peers) {
    waiting_for_ = fmt::format("waiting for {} more peers to begin at step 0 (training.min_peers)",
                               options_.min_peers - supplies.size());
  } else {
    plan_ = std::move(*made);
    if (same_bits()) mark_odd(roster_.peers(), *plan_, out);
    if (auto recovered = recovery(supplies.size()))
      out.push_back(orders::Note{std::nullopt, plan_->step, std::move(*recovered)});
  }
  return out;
}

/// Who is known and has not reported: what it said before may be true no more. What it has counts once its voter
/// has said of which line it is.
std::optional<std::string> Gathering::unreported(Time now) const {
  const bool reports = now - since_ < options_.report_patience;
  const bool answers = now - since_ < options_.voter_patience && options_.consent;
  for (const auto& [id, peer] : roster_.peers())
    if (reports && !peer.reported)
      return "waiting for " + peer.node_name + " to register";
    else if (answers && options_.consent->attendance().unheard(id.node))
      return "waiting for the voter of " + peer.node_name;
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

/// Without the states of a history that was given up: they are of later steps than the swarm has come to,
/// or of a line that does not go on.
Gathering::Supplies Gathering::possible_supplies() const {
  Supplies supplies = roster_.supplies();
  if (options_.consent)
    keep_shared(supplies, of_other_lines(options_.consent->attendance(), roster_));
  const auto newest =
      options_.consent && same_bits() ? options_.consent->bounds().newest : std::optional<Step>();
  if (!newest) return supplies;
  for (PeerSupply& peer : supplies) {
    peer.has_state &= peer.step <= *newest;
    const auto later = [&](Step step) { return *newest < step; };
    erase_if(peer.snapshots, later);
    erase_if(peer.copies, [&](const StoredCopy& copy) { return later(copy.step); });
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
  const std::set<PeerId> barred = options_.consent
                                      ? of_other_lines(options_.consent->attendance(), roster_)
                                      : std::set<PeerId>();
  const NewestCommit newest = newest_commit(roster_, barred);
  if (newest.step == Step(0) || newest.stages.size() == roster_.num_stages()) return false;
  std::map<Stage, Round> last_round;  // of the stages that are one behind
  for (const auto& [id, peer] : roster_.peers())
    if (one_behind(peer, newest))
      last_round[peer.stage] = std::max(last_round[peer.stage], peer.round);
  bool under_way = false;
  for (auto& [id, peer] : roster_.peers()) {
    under_way |= peer.commit_pending;  // told before; its answer, or the end of its link, comes
    const auto round = last_round.find(peer.stage);
    const bool missed = one_behind(peer, newest) && newest.stages.count(peer.stage) == 0 &&
                        round != last_round.end() && peer.round == round->second &&
                        barred.count(id) == 0;
    if (peer.commit_pending || !missed || !peer.reachable) continue;
    peer.commit_pending = under_way = true;
    peer.held.clear();
    orders::CommitStep commit{id, peer.step, peer.round, newest.gradient_norm};
    const NewestCommit::Commit& made = newest.terms.at(term_of(peer.round));
    commit.after = made.after;
    commit.rounds = made.rounds;
    out.push_back(std::move(commit));
  }
  return under_way;
}

Result<RecoveryPlan> Gathering::plan(const Supplies& supplies) const {
  return plan_recovery(supplies, roster_.num_stages());
}

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
