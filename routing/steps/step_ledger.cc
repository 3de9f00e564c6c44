#include "routing/steps/step_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace swarm::routing {
namespace {

StageMask bit(Stage stage) { return StageMask{1} << stage.value(); }

/// Once per slot. `samples` 0: not known.
template <class SlotState>
void take_loss(SlotState& state, double loss_sum, uint32_t samples) {
  if (state.has_loss || state.skipped || samples == 0) return;
  state.has_loss = true;
  state.loss_sum = loss_sum;
  state.samples = samples;
}

StageMask all_stages(uint32_t num_stages) {
  return num_stages == 64 ? ~StageMask{0} : bit(Stage(num_stages)) - 1;
}

}  // namespace

StepLedger::StepLedger(const StepLedgerOptions& options)
    : options_(options),
      slots_(size_t{options.num_slots} + options.num_validation),
      missing_(options.num_stages, options.num_slots) {
  SWARM_CHECK(options.num_stages >= 1 && options.num_stages <= 64);
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    slots_[i].last_attempt = options.attempt_base;
    if (!is_validation(Slot(i))) slots_[i].missing = all_stages(options.num_stages);
  }
}

Step StepLedger::step() const { return options_.step; }

bool StepLedger::open(Slot slot) const {
  const SlotState& state = slots_[slot.value()];
  return is_validation(slot) ? !state.has_loss : state.missing != 0;
}

bool StepLedger::refused(const PeerId& peer, const Try& tried) const {
  auto rule = rules_.find(peer);
  if (rule == rules_.end()) return false;
  return rule->second.lost || tried.sequence < rule->second.min_sequence;
}

void StepLedger::set_holder(SlotState& state, Stage stage, const SlotHolder& holder) {
  state.holders.emplace(stage, holder);
  state.missing &= ~bit(stage);
  --missing_[stage.value()];
}

SlotLease StepLedger::describe(Slot slot, Attempt attempt) const {
  return {slot, attempt, slots_[slot.value()].attempts.at(attempt).needs, is_validation(slot)};
}

std::vector<SlotLease> StepLedger::lease(const ActorId& trainer, uint32_t max_slots,
                                         double deadline_s) {
  std::vector<SlotLease> leases;
  for (Slot slot; slot.value() < slots_.size() && leases.size() < max_slots; ++slot) {
    SlotState& state = slots_[slot.value()];
    if (state.active.has_value() || !open(slot)) continue;
    Attempt attempt = ++state.last_attempt;
    while (state.attempts.count(attempt) != 0) attempt = ++state.last_attempt;
    state.attempts[attempt] = Try{next_sequence_++, state.missing};
    state.active = Active{trainer, attempt, deadline_s};
    leases.push_back(describe(slot, attempt));
  }
  return leases;
}

Status StepLedger::done(Slot slot, Attempt attempt, const std::vector<LedgerHop>& route,
                        double loss_sum, uint32_t samples) {
  if (slot.value() >= slots_.size())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("slot {} of step {}, which has only {}", slot, step(), slots_.size())};
  for (const LedgerHop& hop : route)
    if (hop.stage.value() >= options_.num_stages)
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("route names stage {} of {}", hop.stage, options_.num_stages)};
  SlotState& state = slots_[slot.value()];
  auto found = state.attempts.find(attempt);
  if (found == state.attempts.end())
    return Error{ErrorCode::kNotFound,
                 fmt::format("attempt {} of slot {} was never leased", attempt, slot)};
  const Try& tried = found->second;
  for (const LedgerHop& hop : route) {
    if (!hop.held) continue;
    if (refused(hop.peer, tried))
      rules_[hop.peer].stage = hop.stage;
    else if ((tried.needs & state.missing & bit(hop.stage)) != 0)
      set_holder(state, hop.stage, {hop.peer, hop.attempt});
  }
  take_loss(state, loss_sum, samples);
  failed(slot, attempt);  // ends the lease if it is of this attempt
  return {};
}

void StepLedger::failed(Slot slot, Attempt attempt) {
  if (slot.value() >= slots_.size()) return;
  std::optional<Active>& active = slots_[slot.value()].active;
  if (active.has_value() && active->attempt == attempt) active.reset();
}

NonFiniteVerdict StepLedger::non_finite(Slot slot, Attempt attempt, const LedgerHop& where,
                                        bool other_node) {
  if (slot.value() >= slots_.size()) return NonFiniteVerdict::kIgnored;
  failed(slot, attempt);
  SlotState& state = slots_[slot.value()];
  bool known = state.attempts.count(attempt) != 0;
  if (!known || !open(slot) || !state.non_finite.emplace(attempt, where).second)
    return NonFiniteVerdict::kIgnored;
  std::set<NodeId> nodes;
  for (const auto& [number, hop] : state.non_finite) nodes.insert(hop.peer.node);
  const size_t reports = state.non_finite.size();
  const bool believed =
      nodes.size() > 1 || (!other_node && reports > 1) || reports >= kMostNonFinite;
  if (!believed) return NonFiniteVerdict::kRetry;
  skip(slot);
  return NonFiniteVerdict::kSkipped;
}

void StepLedger::skip(Slot slot) {
  SlotState& state = slots_[slot.value()];
  state.skipped = true;
  state.active.reset();
  state.holders.clear();
  if (is_validation(slot)) {
    state.has_loss = true;
    state.loss_sum = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  state.has_loss = false;
  for (Stage stage; stage.value() < options_.num_stages; ++stage)
    if ((state.missing & bit(stage)) != 0) --missing_[stage.value()];
  state.missing = 0;
}

std::vector<LedgerHop> StepLedger::avoid(Slot slot) const {
  std::vector<LedgerHop> hops;
  if (slot.value() >= slots_.size()) return hops;
  for (const auto& [attempt, hop] : slots_[slot.value()].non_finite) hops.push_back(hop);
  for (const auto& [peer, rule] : rules_)
    if (rule.in_vain()) hops.push_back({*rule.stage, peer, false, {}});
  return hops;
}

std::vector<Slot> StepLedger::skipped() const {
  std::vector<Slot> slots;
  for (Slot slot; slot.value() < options_.num_slots; ++slot)
    if (slots_[slot.value()].skipped) slots.push_back(slot);
  return slots;
}

uint32_t StepLedger::counted_slots() const {
  return options_.num_slots - static_cast<uint32_t>(skipped().size());
}

size_t StepLedger::trainer_lost(const ActorId& trainer, const CarriedSlots& but) {
  size_t ended = 0;
  for (Slot slot; slot.value() < slots_.size(); ++slot) {
    std::optional<Active>& active = slots_[slot.value()].active;
    if (!active.has_value() || active->trainer != trainer) continue;
    if (but.count({step(), slot, active->attempt}) != 0) continue;
    active.reset();
    ++ended;
  }
  return ended;
}

void StepLedger::renew(Slot slot, Attempt attempt, double deadline_s) {
  if (slot.value() >= slots_.size()) return;
  std::optional<Active>& active = slots_[slot.value()].active;
  if (active.has_value() && active->attempt == attempt)
    active->deadline_s = std::max(active->deadline_s, deadline_s);
}

std::vector<SlotLease> StepLedger::expire(double now_s) {
  std::vector<SlotLease> ended;
  for (Slot slot; slot.value() < slots_.size(); ++slot) {
    std::optional<Active>& active = slots_[slot.value()].active;
    if (!active.has_value() || active->deadline_s > now_s) continue;
    ended.push_back(describe(slot, active->attempt));
    active.reset();
  }
  return ended;
}

std::vector<Slot> StepLedger::peer_lost(const PeerId& peer, bool may_return) {
  PeerRule& rule = rules_[peer];
  rule.lost = !may_return;
  rule.min_sequence = next_sequence_;
  std::vector<Slot> affected;
  for (Slot slot; slot.value() < slots_.size(); ++slot) {
    SlotState& state = slots_[slot.value()];
    bool any = false;
    for (auto it = state.holders.begin(); it != state.holders.end();) {
      if (it->second.peer != peer) {
        ++it;
        continue;
      }
      state.missing |= bit(it->first);
      ++missing_[it->first.value()];
      rule.stage = it->first;
      it = state.holders.erase(it);
      any = true;
    }
    if (any) affected.push_back(slot);
  }
  rule.drops += affected.empty() ? 0 : 1;
  return affected;
}

void StepLedger::rebuild(const PeerId& peer, Stage stage,
                         const std::vector<std::pair<Slot, Attempt>>& held) {
  if (stage.value() >= options_.num_stages) return;
  for (const auto& [slot, attempt] : held) {
    if (slot.value() >= options_.num_slots) continue;
    SlotState& state = slots_[slot.value()];
    Try& tried = state.attempts[attempt];  // sequence 0 when new: a predecessor's
    if (tried.sequence == 0) tried.needs |= bit(stage);
    if ((state.missing & bit(stage)) && !refused(peer, tried))
      set_holder(state, stage, {peer, attempt});
  }
}

void StepLedger::rebuild_loss(Slot slot, double loss_sum, uint32_t samples) {
  if (slot.value() >= options_.num_slots || !std::isfinite(loss_sum)) return;
  take_loss(slots_[slot.value()], loss_sum, samples);
}

bool StepLedger::stage_full(Stage stage) const {
  return stage.value() < missing_.size() && missing_[stage.value()] == 0;
}

bool StepLedger::full() const {
  for (uint32_t missing : missing_)
    if (missing != 0) return false;
  for (uint32_t i = options_.num_slots; i < slots_.size(); ++i)
    if (!slots_[i].has_loss) return false;
  return true;
}

std::map<PeerId, std::vector<Slot>> StepLedger::counted(Stage stage) const {
  std::map<PeerId, std::vector<Slot>> slots;
  for (Slot slot; slot.value() < options_.num_slots; ++slot) {
    const auto& holders = slots_[slot.value()].holders;
    auto it = holders.find(stage);
    if (it != holders.end()) slots[it->second.peer].push_back(slot);
  }
  return slots;
}

uint32_t StepLedger::slots_leased() const {
  uint32_t count = 0;
  for (const SlotState& state : slots_) count += state.active.has_value() ? 1 : 0;
  return count;
}

uint32_t StepLedger::slots_done() const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < options_.num_slots; ++i) count += slots_[i].missing == 0 ? 1 : 0;
  return count;
}

uint32_t StepLedger::attempts() const {
  size_t count = 0;
  for (uint32_t i = 0; i < options_.num_slots; ++i) count += slots_[i].attempts.size();
  return static_cast<uint32_t>(count);
}

double StepLedger::train_loss() const {
  double sum = 0;
  for (uint32_t i = 0; i < options_.num_slots; ++i)
    if (slots_[i].has_loss) sum += slots_[i].loss_sum;
  uint64_t samples = train_samples();
  return samples == 0 ? 0 : sum / static_cast<double>(samples);
}

std::optional<double> StepLedger::validation_loss() const {
  if (options_.num_validation == 0) return std::nullopt;
  double sum = 0;
  uint64_t samples = 0;
  for (uint32_t i = options_.num_slots; i < slots_.size(); ++i) {
    if (!slots_[i].has_loss) return std::nullopt;
    sum += slots_[i].loss_sum;
    samples += slots_[i].samples;
  }
  return sum / static_cast<double>(samples);
}

uint64_t StepLedger::train_samples() const {
  uint64_t samples = 0;
  for (uint32_t i = 0; i < options_.num_slots; ++i)
    if (slots_[i].has_loss) samples += slots_[i].samples;
  return samples;
}

std::optional<SlotHolder> StepLedger::holder(Slot slot, Stage stage) const {
  if (slot.value() >= slots_.size()) return std::nullopt;
  const auto& holders = slots_[slot.value()].holders;
  auto it = holders.find(stage);
  if (it == holders.end()) return std::nullopt;
  return it->second;
}

}  // namespace swarm::routing
