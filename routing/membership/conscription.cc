#include "routing/membership/conscription.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "common/check.h"
#include "common/erase_if.h"

namespace swarm::routing {
namespace {

using Hold = ConscriptionHold;

std::vector<const MusteredPeer*> each_once(const Muster& muster, uint32_t stages) {
  std::vector<const MusteredPeer*> peers;
  std::set<PeerId> ids;
  for (const MusteredPeer& one : muster.peers)
    if (one.supply.stage.value() < stages && ids.insert(one.supply.peer).second)
      peers.push_back(&one);
  return peers;
}

/// What a peer has once it serves `to`. What its node has of other stages is listed a moment later, if it is
/// at all.
PeerSupply as_peer_of(Stage to, const MusteredPeer& one, bool with_copies) {
  const PeerSupply& before = one.supply;
  PeerSupply supply;
  supply.peer = before.peer;
  supply.stage = to;
  for (const StoredCopy& copy : before.copies) {
    if (copy.stage != to && with_copies) supply.copies.push_back(copy);
    if (copy.stage != to) continue;
    supply.snapshots.push_back(copy.step);
    if (copy.history != History()) supply.histories[copy.step] = copy.history;
  }
  if (!with_copies || !one.leaves_copies) return supply;
  for (const Step step : before.snapshots) {
    const auto known = before.histories.find(step);
    const bool is_known = known != before.histories.end();
    supply.copies.push_back({before.stage, step, is_known ? known->second : History()});
  }
  return supply;
}

bool has_nothing(const PeerSupply& supply) {
  return !supply.has_state && supply.snapshots.empty() && supply.copies.empty();
}

bool lives(const Muster& muster, Stage stage) {
  return stage.value() < muster.unreached.size() && muster.unreached[stage.value()] > 0;
}

bool has_copy(const PeerSupply& supply, Stage stage, Step step) {
  return std::any_of(supply.copies.begin(), supply.copies.end(), [&](const StoredCopy& copy) {
    return copy.stage == stage && copy.step == step;
  });
}

}  // namespace

const char* to_string(Hold hold) {
  switch (hold) {
    case Hold::kNone:
      return "none";
    case Hold::kWaits:
      return "waits";
    case Hold::kNoQuorum:
      return "no_quorum";
    case Hold::kNoCopy:
      return "no_copy";
    case Hold::kNoGiver:
      return "no_giver";
  }
  return "unknown";
}

struct Conscription::Draft {
  Draft(const Muster& muster, uint32_t num_stages, const ConscriptionOptions& how)
      : peers(each_once(muster, num_stages)), stages(num_stages), options(how), counts(stages) {
    bool any_state = false;
    for (const MusteredPeer* one : peers) {
      counts[one->supply.stage.value()] += one->here ? 1 : 0;
      any_state |= one->supply.has_state;
    }
    // As the gathering that is to begin.
    needed = any_state ? 1 : std::max(1u, options.min_peers_per_stage);
  }

  /// Where the stages would be: of each the newest step. In stages that nobody serves somebody is supposed
  /// who has nothing yet.
  Result<std::vector<Step>> steps(bool with_copies) const {
    std::vector<PeerSupply> supplies;
    std::vector<bool> served(stages, false);
    for (const MusteredPeer* one : peers) {
      const auto goes = moved.find(one->supply.peer);
      supplies.push_back(goes == moved.end() ? one->supply
                                             : as_peer_of(goes->second, *one, with_copies));
      served[supplies.back().stage.value()] = true;
    }
    for (Stage stage; stage.value() < stages; ++stage)
      if (!served[stage.value()])
        supplies.push_back({{{}, fmt::format("nobody.{}", stage)}, stage, false, {}, {}, {}, {}});
    const auto plan = options.asynchronous ? plan_asynchronous_recovery(supplies, stages)
                                           : plan_recovery(supplies, stages);
    if (!plan) return plan.error();
    std::vector<Step> found(stages);
    for (const PeerSupply& one : supplies) {
      const auto action = plan->actions.find(one.peer);
      if (action == plan->actions.end()) continue;
      Step& step = found[one.stage.value()];
      step = std::max(step, action->second.step);
    }
    return found;
  }
  bool costs_a_step(const std::vector<Step>& best, bool with_copies) const {
    const auto found = steps(with_copies);
    if (!found) return true;
    for (uint32_t i = 0; i < stages; ++i)
      if ((*found)[i] < best[i]) return true;
    return false;
  }
  bool spares(const MusteredPeer& one) const { return counts[one.supply.stage.value()] > needed; }
  void move(const MusteredPeer& one, Stage to) {
    moved[one.supply.peer] = to;
    --counts[one.supply.stage.value()];
    ++counts[to.value()];
  }
  void stay(const MusteredPeer& one, Stage to) {
    moved.erase(one.supply.peer);
    ++counts[one.supply.stage.value()];
    --counts[to.value()];
  }
  /// Null: nobody.
  const MusteredPeer* choose(Stage to, const std::vector<Step>& best) {
    using Key = std::tuple<uint32_t, bool, bool, std::string, PeerId, const MusteredPeer*>;
    std::vector<Key> offers;
    for (const MusteredPeer* one : peers) {
      const PeerSupply& supply = one->supply;
      const bool may = one->may_move && moved.count(supply.peer) == 0 && spares(*one);
      const bool has = has_copy(supply, to, best[to.value()]);
      if (may && supply.stage != to)
        offers.emplace_back(UINT32_MAX - counts[supply.stage.value()], one->rests, !has,
                            one->node_name, supply.peer, one);
    }
    std::sort(offers.begin(), offers.end());
    for (const bool with_copies : {false, true}) {
      for (const Key& offer : offers) {
        const MusteredPeer* one = std::get<const MusteredPeer*>(offer);
        move(*one, to);
        if (!costs_a_step(best, with_copies)) return one;
        stay(*one, to);
      }
    }
    return nullptr;
  }

  std::string too_few() const {
    std::string text = "no stage can spare a peer:";
    for (uint32_t stage = 0; stage < stages; ++stage)
      text += fmt::format(" {} of stage {} are here,", counts[stage], stage);
    return text + fmt::format(" each needs {}", needed);
  }

  const Peers peers;
  const uint32_t stages;
  const ConscriptionOptions& options;
  std::vector<uint32_t> counts;  ///< By stage.
  uint32_t needed = 1;           ///< In each.
  std::map<PeerId, Stage> moved;
};

Conscription::Conscription(uint32_t stages, const ConscriptionOptions& options)
    : stages_(stages), options_(options), missing_since_(stages), had_(stages) {
  SWARM_CHECK(stages > 0);
}

void Conscription::begin() {
  std::fill(missing_since_.begin(), missing_since_.end(), std::nullopt);
  std::fill(had_.begin(), had_.end(), std::map<std::string, Step>());
  last_ = {};
  told_at_.reset();
  ordered_at_.reset();
}

void Conscription::saw(Stage stage, const std::string& node_name, Step step) {
  Step& newest = had_[stage.value()][node_name];
  newest = std::max(newest, step);
}

std::string Conscription::who_had(Stage stage) const {
  std::string text;
  for (const auto& [name, step] : had_[stage.value()])
    text += fmt::format("{}{} (step {})", text.empty() ? "" : ", ", name, step);
  return text.empty() ? "" : fmt::format("; stage {} was on the disks of {}", stage, text);
}

bool Conscription::acts() const {
  return last_.hold == Hold::kWaits || (last_.hold == Hold::kNone && !last_.orders.empty());
}

ConscriptionDecision Conscription::decide(const Muster& muster, Time now) {
  ConscriptionDecision decision = decided(muster, now);
  const bool told = decision.hold != Hold::kNone && decision.hold != Hold::kWaits;
  if (decision.hold != last_.hold || decision.stage != last_.stage) {
    holds_since_ = now;
    told_at_.reset();
  }
  const bool news = told_at_ ? decision.missing != told_ && now - *told_at_ >= kTellAgain
                             : now - holds_since_ >= std::min(kTellAfter, options_.gone_after);
  decision.tell = told && news;
  if (decision.tell) {
    told_at_ = now;
    told_ = decision.missing;
  }
  if (!decision.orders.empty()) ordered_at_ = now;
  last_ = decision;
  return decision;
}

std::vector<Stage> Conscription::watch(const Muster& muster, const Draft& draft, Time now) {
  const bool begun = std::any_of(draft.peers.begin(), draft.peers.end(),
                                 [](const auto* one) { return !has_nothing(one->supply); });
  std::vector<Stage> lost;
  for (Stage stage; stage.value() < stages_; ++stage) {
    auto& since = missing_since_[stage.value()];
    if (muster.own[stage.value()] > 0)
      since.reset();
    else if (!since && begun)  // later, all may have to register again: that is no return
      since = now;
    if (since) lost.push_back(stage);
  }
  return lost;
}

ConscriptionDecision Conscription::decided(const Muster& muster, Time now) {
  ConscriptionDecision out;
  if (!ever()) return out;
  SWARM_CHECK(muster.own.size() == stages_ && muster.sent.size() == stages_);
  Draft draft(muster, stages_, options_);
  const auto hold = [&out](Hold why, Stage stage, const std::string& missing) {
    out.hold = why;
    out.stage = stage;
    out.missing = missing;
    return out;
  };
  std::vector<Stage> lost = watch(muster, draft, now);
  const bool elsewhere =
      std::any_of(lost.begin(), lost.end(), [&](Stage one) { return lives(muster, one); });
  if (lost.empty() || elsewhere) return out;
  const auto enough = [&](Stage stage) { return muster.sent[stage.value()] >= draft.needed; };
  const Stage first = lost[0];
  erase_if(lost, enough);
  if (lost.empty()) return hold(Hold::kWaits, first, "");
  if (!muster.agreed)
    return hold(Hold::kNoQuorum, lost[0],
                "fewer than half of the swarm are here; `go-on` goes on without the rest");
  if (!muster.complete) return hold(Hold::kWaits, lost[0], "");
  const auto best = draft.steps(true);
  if (!best) return hold(Hold::kNoCopy, lost[0], best.error().detail + who_had(lost[0]));
  const bool ordered = ordered_at_ && now - *ordered_at_ < kOrderAgain;
  for (const Stage to : lost) {
    if (ordered || now - *missing_since_[to.value()] < options_.gone_after)
      return hold(Hold::kWaits, to, "");
    const Step step = (*best)[to.value()];
    std::vector<ConscriptionOrder> orders;  // fewer than it needs would be moved in vain
    for (uint32_t sent = muster.sent[to.value()]; sent < draft.needed; ++sent) {
      const MusteredPeer* one = draft.choose(to, *best);
      if (one == nullptr) return hold(Hold::kNoGiver, to, draft.too_few());
      const PeerSupply& supply = one->supply;
      orders.push_back({supply.peer, supply.stage, to, step, has_copy(supply, to, step),
                        draft.counts[supply.stage.value()] + 1, sent});
    }
    out.orders.insert(out.orders.end(), orders.begin(), orders.end());
  }
  return out;
}

bool Conscription::may_leave(const PeerId& peer, Stage to, const Muster& muster) const {
  if (to.value() >= stages_ || !missing_since_[to.value()] || muster.own[to.value()] > 0 ||
      lives(muster, to) || !muster.agreed)
    return false;
  Draft draft(muster, stages_, options_);
  const auto found = std::find_if(draft.peers.begin(), draft.peers.end(),
                                  [&](const auto* one) { return one->supply.peer == peer; });
  if (found == draft.peers.end() || !(*found)->may_move || (*found)->supply.stage == to)
    return false;
  const auto best = draft.steps(true);
  if (!best || !draft.spares(**found)) return false;
  draft.move(**found, to);
  return !draft.costs_a_step(*best, true);
}

}  // namespace swarm::routing
