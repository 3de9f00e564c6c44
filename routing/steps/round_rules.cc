#include "routing/steps/round_rules.h"

#include <fmt/format.h>

#include "common/mix.h"

namespace swarm::routing {

Status may_close(const RoundPlace& at, const CloseCall& call) {
  const bool repeat = call.round == at.round;
  const bool again = repeat && call.go_on && call.step + 1 == at.open_step;
  if (call.step != at.open_step && !again)
    return Error{call.step < at.open_step ? ErrorCode::kStaleStep : ErrorCode::kNotReady,
                 fmt::format("the peer is at step {}", at.open_step)};
  if (call.abandons) return {};
  if (!call.is_member) return Error{ErrorCode::kInvalidArgument, "this peer is no member"};
  if (call.round < at.round) return Error{ErrorCode::kStaleStep, "a later round has begun"};
  if (repeat || !call.commit) return {};
  const auto& commit = *call.commit;
  if (commit.step != at.applied || !at.averaged || at.round != commit.round)
    return Error{ErrorCode::kNotFound, fmt::format("no average of round {}", commit.round)};
  return {};
}

Status may_commit(const RoundPlace& at, const NamedAverage& commit) {
  if (commit.step != at.applied)
    return Error{ErrorCode::kStaleStep, fmt::format("the peer has applied {}", at.applied)};
  if (!at.averaged || at.round != commit.round || at.committing)
    return Error{ErrorCode::kNotFound, fmt::format("no average of round {}", commit.round)};
  return {};
}

Status may_average(Round newest, bool averaging, Round asked) {
  if (averaging && asked != newest)
    return Error{ErrorCode::kOverloaded, "an earlier round is under way", 100};
  if (!averaging && asked <= newest) return Error{ErrorCode::kStaleStep, "the round is over here"};
  return {};
}

uint64_t digest_of(const BroughtBy& slots) {
  uint64_t digest = 0;
  for (const auto& [slot, attempt] : slots)
    digest = mix(mix(digest ^ slot.value()) ^ attempt.value());
  return digest;
}

std::string too_much(const BroughtBy& held, bool settled, const CountedSlots& counted) {
  std::set<Slot> slots;
  for (const auto& [slot, attempt] : held) slots.insert(slot);
  const bool same_slots = slots == counted.slots;
  if (same_slots && digest_of(held) != counted.digest)
    return "held a slot by another attempt than counted";
  if (same_slots && settled) return "";
  return settled ? fmt::format("held {} slots, counted {}", slots.size(), counted.slots.size())
                 : "a slot that counts was still being computed";
}

}  // namespace swarm::routing
