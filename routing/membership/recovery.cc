#include "routing/membership/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace swarm::routing {
namespace {

using Steps = std::set<Step>;

Status check(const std::vector<PeerSupply>& peers, uint32_t num_stages) {
  std::set<PeerId> ids;
  std::vector<bool> present(num_stages, false);
  for (const PeerSupply& peer : peers) {
    if (peer.stage.value() >= num_stages)
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("peer {} serves stage {} of {}", peer.peer.brief(), peer.stage, num_stages)};
    for (const StoredCopy& copy : peer.copies)
      if (copy.stage.value() >= num_stages)
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("peer {} has a copy of stage {}", peer.peer.brief(), copy.stage)};
    if (!ids.insert(peer.peer).second)
      return Error{ErrorCode::kInvalidArgument, "peer " + peer.peer.brief() + " is listed twice"};
    present[peer.stage.value()] = true;
  }
  for (Stage stage; stage.value() < num_stages; ++stage)
    if (!present[stage.value()])
      return Error{ErrorCode::kNoLivePeer, fmt::format("stage {} has no peer yet", stage)};
  return {};
}

std::vector<Steps> supplies(const std::vector<PeerSupply>& peers, uint32_t num_stages) {
  std::vector<Steps> steps(num_stages);
  for (const PeerSupply& peer : peers) {
    steps[peer.stage.value()].insert(peer.snapshots.begin(), peer.snapshots.end());
    if (peer.has_state) steps[peer.stage.value()].insert(peer.step);
    for (const StoredCopy& copy : peer.copies) steps[copy.stage.value()].insert(copy.step);
  }
  return steps;
}

std::string list(const Steps& steps) {
  constexpr size_t kShown = 8;
  if (steps.empty()) return "nothing";
  std::string text;
  size_t shown = 0;
  for (auto it = steps.rbegin(); it != steps.rend() && shown < kShown; ++it, ++shown)
    text += (shown == 0 ? "" : ", ") + std::to_string(it->value());
  if (steps.size() > kShown) text += fmt::format(", ... ({} in all)", steps.size());
  return text;
}

Error nothing_in_common(const std::vector<Steps>& steps) {
  std::string empty, has;
  for (Stage stage; stage.value() < steps.size(); ++stage) {
    const std::string name = fmt::format("stage {}", stage);
    if (steps[stage.value()].empty()) empty += (empty.empty() ? "" : ", ") + name;
    has += "; " + name + " has " + list(steps[stage.value()]);
  }
  std::string what =
      empty.empty() ? "no step is held by every stage" : "nobody has any state of " + empty;
  return {ErrorCode::kNotFound, what + has + ". Start the nodes that hold the missing snapshots"};
}

bool has_snapshot(const PeerSupply& peer, Step step) {
  return std::find(peer.snapshots.begin(), peer.snapshots.end(), step) != peer.snapshots.end();
}

/// What `peer` has of a step; 0: not known, or it has nothing of it.
History history_of(const PeerSupply& peer, Step step) {
  const auto known = peer.histories.find(step);
  return known == peer.histories.end() ? History() : known->second;
}

bool is_of(const PeerSupply& peer, const RecoveryPlan& plan) {
  return goes_with(history_of(peer, plan.step), plan.history);
}

bool has(const PeerSupply& peer, Step step) {
  return (peer.has_state && peer.step == step) || has_snapshot(peer, step);
}

/// All that there is of a step: stages, and the histories that they have of it.
std::vector<std::pair<Stage, History>> states_of(const std::vector<PeerSupply>& peers, Step step) {
  std::vector<std::pair<Stage, History>> found;
  for (const PeerSupply& peer : peers) {
    if (has(peer, step)) found.emplace_back(peer.stage, history_of(peer, step));
    for (const StoredCopy& copy : peer.copies)
      if (copy.step == step) found.emplace_back(copy.stage, copy.history);
  }
  return found;
}

Error no_common_history(const std::vector<PeerSupply>& peers, Step step) {
  const auto states = states_of(peers, step);
  const std::set<std::pair<Stage, History>> found(states.begin(), states.end());
  std::string text;
  for (const auto& [stage, history] : found)
    text += fmt::format("; stage {} has history {:016x}", stage, history.value());
  return {ErrorCode::kNotFound, fmt::format("every stage has step {}, but not of one history{}. "
                                            "Start the nodes that hold "
                                            "the missing snapshots",
                                            step, text)};
}

std::vector<PeerId> sources(const std::vector<PeerSupply>& peers, Stage stage,
                            const RecoveryPlan& plan) {
  const Step step = plan.step;
  std::set<PeerId> live, stored, copied;
  for (const PeerSupply& peer : peers) {
    for (const StoredCopy& copy : peer.copies)
      if (copy.stage == stage && copy.step == step && goes_with(copy.history, plan.history))
        copied.insert(peer.peer);
    if (peer.stage != stage || !is_of(peer, plan)) continue;
    if (peer.has_state && peer.step == step)
      live.insert(peer.peer);
    else if (has_snapshot(peer, step))
      stored.insert(peer.peer);
  }
  for (const std::set<PeerId>* own : {&live, &stored})
    for (const PeerId& id : *own) copied.erase(id);
  std::vector<PeerId> ids(live.begin(), live.end());
  ids.insert(ids.end(), stored.begin(), stored.end());
  ids.insert(ids.end(), copied.begin(), copied.end());
  return ids;
}

/// `plan`: its step and history.
RecoveryAction action(const PeerSupply& peer, const std::vector<PeerSupply>& peers,
                      const RecoveryPlan& plan) {
  using Kind = RecoveryAction::Kind;
  const Step step = plan.step;
  const bool own = is_of(peer, plan);
  if (own && peer.has_state && peer.step == step) return {Kind::kServe, step, {}};
  if (own && has_snapshot(peer, step)) return {Kind::kRestoreOwn, step, {}};
  auto from = sources(peers, peer.stage, plan);
  if (from.empty()) return {Kind::kInitialise, Step(0), {}};  // step 0, see plan_recovery()
  return {Kind::kFetch, step, std::move(from)};
}

/// Nobody has trained yet: what a stage has lost is drawn from the seed again.
bool only_the_start(const std::vector<Steps>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const Steps& s) { return s.empty() || *s.rbegin() == Step(0); });
}

}  // namespace

std::optional<History> common_history(const std::vector<PeerSupply>& peers, uint32_t num_stages,
                                      Step step) {
  const auto states = states_of(peers, step);
  std::map<History, size_t> known;
  for (const auto& [stage, history] : states)
    if (history != History()) ++known[history];
  if (known.empty()) return History();
  std::optional<History> best;
  for (const auto& [history, count] : known) {
    std::set<Stage> stages;
    for (const auto& [stage, other] : states)
      if (goes_with(other, history)) stages.insert(stage);
    if (stages.size() == num_stages && (!best || count > known[*best])) best = history;
  }
  return best;
}

bool has_trained(const std::vector<PeerSupply>& peers) {
  return std::any_of(peers.begin(), peers.end(), [](const PeerSupply& peer) {
    const auto beyond = [](Step step) { return step > Step(0); };
    return (peer.has_state && beyond(peer.step)) ||
           std::any_of(peer.snapshots.begin(), peer.snapshots.end(), beyond) ||
           std::any_of(peer.copies.begin(), peer.copies.end(),
                       [&](const StoredCopy& copy) { return beyond(copy.step); });
  });
}

Result<RecoveryPlan> plan_recovery(const std::vector<PeerSupply>& peers, uint32_t num_stages) {
  if (num_stages == 0) return Error{ErrorCode::kInvalidArgument, "a model has at least one stage"};
  Status valid = check(peers, num_stages);
  if (!valid.ok()) return valid.error();
  std::vector<Steps> steps = supplies(peers, num_stages);
  RecoveryPlan plan;
  plan.fresh = std::all_of(steps.begin(), steps.end(), [](const Steps& s) { return s.empty(); });
  if (plan.fresh) {
    for (const PeerSupply& peer : peers)
      plan.actions[peer.peer] = {RecoveryAction::Kind::kInitialise, Step(0), {}};
    return plan;
  }
  if (only_the_start(steps))
    for (Steps& stage : steps) stage.insert(Step(0));
  auto held_by_all = [&steps](Step step) {
    return std::all_of(steps.begin(), steps.end(),
                       [step](const Steps& s) { return s.count(step) != 0; });
  };
  std::optional<Step> divided;  // the newest that all have, but of several histories
  for (auto step = steps[0].rbegin(); step != steps[0].rend(); ++step) {
    if (!held_by_all(*step)) continue;
    const auto history = common_history(peers, num_stages, *step);
    if (!history) {
      if (!divided) divided = *step;
      continue;
    }
    plan.step = *step;
    plan.history = *history;
    for (const PeerSupply& peer : peers) plan.actions[peer.peer] = action(peer, peers, plan);
    return plan;
  }
  return divided ? no_common_history(peers, *divided) : nothing_in_common(steps);
}

Result<RecoveryPlan> plan_asynchronous_recovery(const std::vector<PeerSupply>& peers,
                                                uint32_t num_stages) {
  auto plan = plan_recovery(peers, num_stages);
  if (!plan && plan.code() != ErrorCode::kNotFound) return plan;
  if (plan && (plan->fresh || only_the_start(supplies(peers, num_stages)))) return plan;
  RecoveryPlan result;
  const std::vector<Steps> steps = supplies(peers, num_stages);
  for (Stage stage; stage.value() < num_stages; ++stage) {
    Steps live;
    for (const PeerSupply& peer : peers)
      if (peer.stage == stage && peer.has_state) live.insert(peer.step);
    const Steps& known = live.empty() ? steps[stage.value()] : live;
    if (known.empty()) return nothing_in_common(steps);
    const Step newest = *known.rbegin();
    RecoveryPlan own;
    own.step = newest;
    result.step = std::max(result.step, newest);
    for (const PeerSupply& peer : peers) {
      if (peer.stage != stage) continue;
      const bool near = peer.has_state && peer.step + 1 >= newest;
      result.actions[peer.peer] = near ? RecoveryAction{RecoveryAction::Kind::kServe, peer.step, {}}
                                       : action(peer, peers, own);
    }
  }
  return result;
}

std::optional<Step> longer_history(const std::vector<PeerSupply>& peers, uint32_t num_stages,
                                   Step step) {
  std::map<Step, std::set<Stage>> stages;  // by step
  std::vector<PeerSupply> ahead;
  for (const PeerSupply& peer : peers) {
    if (!peer.has_state || peer.step <= step) continue;
    stages[peer.step].insert(peer.stage);
    ahead.push_back(peer);
    ahead.back().snapshots.clear();
    ahead.back().copies.clear();
  }
  for (auto it = stages.rbegin(); it != stages.rend(); ++it)
    if (it->second.size() == num_stages && common_history(ahead, num_stages, it->first))
      return it->first;
  return std::nullopt;
}

}  // namespace swarm::routing
