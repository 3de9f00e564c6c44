#include "routing/steps/step_ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace swarm::routing {
namespace {

StageMask bit(uint32_t stage) { return StageMask{1} << stage; }

/// Once per slot. `samples` 0: not known.
template <class Slot>
void take_loss(Slot& slot, double loss_sum, uint32_t samples) {
  if (slot.has_loss || slot.skipped || samples == 0) return;
  slot.has_loss = true;
  slot.loss_sum = loss_sum;
  slot.samples = samples;
}

StageMask all_stages(uint32_t num_stages) {
  return num_stages == 64 ? ~StageMask{0} : bit(num_stages) - 1;
}

}  // namespace

StepLedger::StepLedger(const StepLedgerOptions& options)
    : options_(options),
      slots_(size_t{options.num_slots} + options.num_validation),
      missing_(options.num_stages, options.num_slots) {
  SWARM_CHECK(options.num_stages >= 1 && options.num_stages <= 64);
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    slots_[i].last_attempt = options.attempt_base;
    if (!is_validation(i)) slots_[i].missing = all_stages(options.num_stages);
  }
}

uint64_t StepLedger::step() const { return options_.step; }

bool StepLedger::open(uint32_t slot) const {
  return is_validation(slot) ? !slots_[slot].has_loss : slots_[slot].missing != 0;
}

bool StepLedger::refused(const PeerId& peer, const Attempt& attempt) const {
  auto rule = rules_.find(peer);
  if (rule == rules_.end()) return false;
  return rule->second.lost || attempt.sequence < rule->second.min_sequence;
}

void StepLedger::set_holder(Slot& slot, uint32_t stage, const SlotHolder& holder) {
  slot.holders.emplace(stage, holder);
  slot.missing &= ~bit(stage);
  --missing_[stage];
}

SlotLease StepLedger::describe(uint32_t slot, uint64_t attempt) const {
  return {slot, attempt, slots_[slot].attempts.at(attempt).needs, is_validation(slot)};
}

std::vector<SlotLease> StepLedger::lease(const ActorId& trainer, uint32_t max_slots,
                                         double deadline_s) {
  std::vector<SlotLease> leases;
  for (uint32_t i = 0; i < slots_.size() && leases.size() < max_slots; ++i) {
    Slot& slot = slots_[i];
    if (slot.active.has_value() || !open(i)) continue;
    uint64_t attempt = ++slot.last_attempt;
    while (slot.attempts.count(attempt) != 0) attempt = ++slot.last_attempt;
    slot.attempts[attempt] = Attempt{next_sequence_++, slot.missing};
    slot.active = Active{trainer, attempt, deadline_s};
    leases.push_back(describe(i, attempt));
  }
  return leases;
}

Status StepLedger::done(uint32_t slot_index, uint64_t attempt_number,
                        const std::vector<LedgerHop>& route, double loss_sum, uint32_t samples) {
  if (slot_index >= slots_.size())
    return Error{ErrorCode::kInvalidArgument, "slot " + std::to_string(slot_index) + " of step " +
                                                  std::to_string(step()) + ", which has only " +
                                                  std::to_string(slots_.size())};
  for (const LedgerHop& hop : route)
    if (hop.stage >= options_.num_stages)
      return Error{ErrorCode::kInvalidArgument, "route names stage " + std::to_string(hop.stage) +
                                                    " of " + std::to_string(options_.num_stages)};
  Slot& slot = slots_[slot_index];
  auto found = slot.attempts.find(attempt_number);
  if (found == slot.attempts.end())
    return Error{ErrorCode::kNotFound, "attempt " + std::to_string(attempt_number) + " of slot " +
                                           std::to_string(slot_index) + " was never leased"};
  const Attempt& attempt = found->second;
  for (const LedgerHop& hop : route)
    if (hop.held && (attempt.needs & slot.missing & bit(hop.stage)) && !refused(hop.peer, attempt))
      set_holder(slot, hop.stage, {hop.peer, hop.attempt});
  take_loss(slot, loss_sum, samples);
  failed(slot_index, attempt_number);  // ends the lease if it is of this attempt
  return {};
}

void StepLedger::failed(uint32_t slot_index, uint64_t attempt) {
  if (slot_index >= slots_.size()) return;
  std::optional<Active>& active = slots_[slot_index].active;
  if (active.has_value() && active->attempt == attempt) active.reset();
}

NonFiniteVerdict StepLedger::non_finite(uint32_t slot_index, uint64_t attempt,
                                        const LedgerHop& where) {
  if (slot_index >= slots_.size()) return NonFiniteVerdict::kIgnored;
  failed(slot_index, attempt);
  Slot& slot = slots_[slot_index];
  bool known = slot.attempts.count(attempt) != 0;
  if (!known || !open(slot_index) || !slot.non_finite.emplace(attempt, where).second)
    return NonFiniteVerdict::kIgnored;
  if (slot.non_finite.size() < 2) return NonFiniteVerdict::kRetry;
  skip(slot_index);
  return NonFiniteVerdict::kSkipped;
}

void StepLedger::skip(uint32_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.skipped = true;
  slot.active.reset();
  slot.holders.clear();
  if (is_validation(slot_index)) {
    slot.has_loss = true;
    slot.loss_sum = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  slot.has_loss = false;
  for (uint32_t stage = 0; stage < options_.num_stages; ++stage)
    if ((slot.missing & bit(stage)) != 0) --missing_[stage];
  slot.missing = 0;
}

std::vector<LedgerHop> StepLedger::avoid(uint32_t slot) const {
  std::vector<LedgerHop> hops;
  if (slot >= slots_.size()) return hops;
  for (const auto& [attempt, hop] : slots_[slot].non_finite) hops.push_back(hop);
  return hops;
}

std::vector<uint32_t> StepLedger::skipped() const {
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < options_.num_slots; ++i)
    if (slots_[i].skipped) slots.push_back(i);
  return slots;
}

uint32_t StepLedger::counted_slots() const {
  return options_.num_slots - static_cast<uint32_t>(skipped().size());
}

size_t StepLedger::trainer_lost(const ActorId& trainer) {
  size_t ended = 0;
  for (Slot& slot : slots_) {
    if (!slot.active.has_value() || slot.active->trainer != trainer) continue;
    slot.active.reset();
    ++ended;
  }
  return ended;
}

std::vector<SlotLease> StepLedger::expire(double now_s) {
  std::vector<SlotLease> ended;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    std::optional<Active>& active = slots_[i].active;
    if (!active.has_value() || active->deadline_s > now_s) continue;
    ended.push_back(describe(i, active->attempt));
    active.reset();
  }
  return ended;
}

std::vector<uint32_t> StepLedger::peer_lost(const PeerId& peer, bool may_return) {
  rules_[peer] = PeerRule{!may_return, next_sequence_};
  std::vector<uint32_t> affected;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    bool any = false;
    for (auto it = slot.holders.begin(); it != slot.holders.end();) {
      if (it->second.peer != peer) {
        ++it;
        continue;
      }
      slot.missing |= bit(it->first);
      ++missing_[it->first];
      it = slot.holders.erase(it);
      any = true;
    }
    if (any) affected.push_back(i);
  }
  return affected;
}

void StepLedger::rebuild(const PeerId& peer, uint32_t stage,
                         const std::vector<std::pair<uint32_t, uint64_t>>& held) {
  if (stage >= options_.num_stages) return;
  for (const auto& [slot_index, attempt_number] : held) {
    if (slot_index >= options_.num_slots) continue;
    Slot& slot = slots_[slot_index];
    Attempt& attempt = slot.attempts[attempt_number];  // sequence 0 when new: a predecessor's
    if (attempt.sequence == 0) attempt.needs |= bit(stage);
    if ((slot.missing & bit(stage)) && !refused(peer, attempt))
      set_holder(slot, stage, {peer, attempt_number});
  }
}

void StepLedger::rebuild_loss(uint32_t slot_index, double loss_sum, uint32_t samples) {
  if (slot_index >= options_.num_slots || !std::isfinite(loss_sum)) return;
  take_loss(slots_[slot_index], loss_sum, samples);
}

bool StepLedger::stage_full(uint32_t stage) const {
  return stage < missing_.size() && missing_[stage] == 0;
}

bool StepLedger::full() const {
  for (uint32_t missing : missing_)
    if (missing != 0) return false;
  for (uint32_t i = options_.num_slots; i < slots_.size(); ++i)
    if (!slots_[i].has_loss) return false;
  return true;
}

std::map<PeerId, std::vector<uint32_t>> StepLedger::counted(uint32_t stage) const {
  std::map<PeerId, std::vector<uint32_t>> slots;
  for (uint32_t i = 0; i < options_.num_slots; ++i) {
    auto it = slots_[i].holders.find(stage);
    if (it != slots_[i].holders.end()) slots[it->second.peer].push_back(i);
  }
  return slots;
}

uint32_t StepLedger::slots_leased() const {
  uint32_t count = 0;
  for (const Slot& slot : slots_) count += slot.active.has_value() ? 1 : 0;
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

std::optional<SlotHolder> StepLedger::holder(uint32_t slot, uint32_t stage) const {
  if (slot >= slots_.size()) return std::nullopt;
  auto it = slots_[slot].holders.find(stage);
  if (it == slots_[slot].holders.end()) return std::nullopt;
  return it->second;
}

}  // namespace swarm::routing
