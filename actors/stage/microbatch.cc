#include "actors/stage/microbatch.h"

#include <fmt/format.h>

#include <string>

namespace swarm::actors {
namespace {

Status check(const proto::ForwardRequest& head, const MicrobatchLimits& limits) {
  auto bad = [](std::string detail) { return Error{ErrorCode::kShapeMismatch, std::move(detail)}; };
  if (Stage(head.stage()) != limits.stage)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("this peer serves stage {}, not {}", limits.stage, head.stage())};
  if (head.samples() == 0 || head.samples() > limits.max_samples)
    return bad(fmt::format("samples must be 1 to {}", limits.max_samples));
  if (head.sequence() != limits.sequence)
    return bad(fmt::format("the sequence has {} tokens, not {}", limits.sequence, head.sequence()));
  if (head.slot() >= limits.slots)
    return bad(fmt::format("a step has {} slots, validation included", limits.slots));
  const uint64_t bytes = uint64_t{head.samples()} * (head.sequence() + 1) * 4;
  if (head.tokens().size() != bytes)
    return bad(fmt::format("tokens have {} bytes, not {}", head.tokens().size(), bytes));
  return {};
}

}  // namespace

Result<Microbatch> decode_microbatch(const Mail& mail, const MicrobatchLimits& limits) {
  const auto& head = mail.as<proto::ForwardRequest>();
  if (auto valid = check(head, limits); !valid) return valid.error();
  if (const auto asker = NodeId::from_bytes(head.asker()); asker)
    if (auto own = speaks_for(mail, *asker); !own) return own.error();
  Microbatch microbatch;
  microbatch.key = {Step(head.step()), Slot(head.slot()), Attempt(head.attempt())};
  microbatch.forward_only = head.forward_only();
  microbatch.adds = ((head.needs() >> limits.stage.value()) & 1) != 0 && !head.forward_only();
  microbatch.input.samples = head.samples();
  microbatch.input.sequence = head.sequence();
  microbatch.input.tokens = Buffer(mail.head, head.tokens().data(), head.tokens().size());
  if (limits.stage > Stage(0)) microbatch.input.activations = {head.activations(), mail.body};
  microbatch.request = mail;
  return microbatch;
}

proto::ForwardRequest for_next_stage(const Microbatch& microbatch,
                                     const tensor::EncodedTensor& activations) {
  const auto& from = microbatch.request.as<proto::ForwardRequest>();
  proto::ForwardRequest head;
  head.set_step(microbatch.key.step.value());
  head.set_slot(microbatch.key.slot.value());
  head.set_attempt(microbatch.key.attempt.value());
  head.set_needs(from.needs());
  head.set_forward_only(microbatch.forward_only);
  head.set_samples(microbatch.input.samples);
  head.set_sequence(microbatch.input.sequence);
  head.set_tokens(from.tokens());
  *head.mutable_avoid() = from.avoid();
  *head.mutable_activations() = activations.meta;
  return head;
}

Downstream decode_downstream(const Mail& reply) {
  const auto& head = reply.as<proto::ForwardReply>();
  return {head.loss_sum(), head.has_non_finite(), {head.gradient(), reply.body}, reply};
}

}  // namespace swarm::actors
