// Gathering: what peers load, and the opening of the step once they have.
#include <fmt/format.h>

#include <algorithm>

#include "routing/membership/gathering.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;

}  // namespace

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
      if (!has_trained(roster_.supplies()))
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
    waiting_for_ =
        "waiting until more than half (after go-on: all) have stored where the swarm goes on from";
    return {};
  }
  opened();
  return {order};
}

std::optional<std::string> Gathering::awaited(Time) { return std::nullopt; }

}  // namespace swarm::routing
