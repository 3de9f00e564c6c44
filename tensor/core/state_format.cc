#include "tensor/core/state_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tensor/core/flat.h"
#include "tensor/core/payload_format.h"

namespace swarm::tensor {
namespace {

Error corrupt(const std::string& text) {
  return {ErrorCode::kCorruptCheckpoint, "stage state: " + text, 0};
}

Status check_head(const proto::StageState& head) {
  const uint32_t version = head.format_version();
  if (version != kStateFormatAdamw && version != kStateFormatVersion) {
    return corrupt(fmt::format("format version {} is unknown; this program reads up to version {}",
                               version, kStateFormatVersion));
  }
  if (head.step() > kMaxStep) return corrupt(fmt::format("there is no step {}", head.step()));
  if (!head.optimizer().empty() && !find_optimizer(head.optimizer())) {
    return corrupt(fmt::format("optimizer \"{}\" is unknown", head.optimizer()));
  }
  const bool adamw = optimizer_kind(head) == OptimizerKind::kAdamw;
  if (adamw != (version == kStateFormatAdamw) || adamw != head.optimizer().empty()) {
    return corrupt(fmt::format("format version {} does not go with the optimizer", version));
  }
  if (!optimizer_info(optimizer_kind(head)).has_momentum_product && head.momentum_product() != 0) {
    return corrupt("a momentum product does not go with " + head.optimizer());
  }
  return check_counters(optimizer_kind(head), optimizer_counters(head));
}

}  // namespace

void put_optimizer(OptimizerKind kind, const OptimizerCounters& counters, proto::StageState& head) {
  head.set_updates(counters.updates);
  head.set_format_version(kStateFormatAdamw);
  if (kind == OptimizerKind::kAdamw) return;
  head.set_format_version(kStateFormatVersion);
  head.set_optimizer(to_string(kind));
  if (optimizer_info(kind).has_momentum_product)
    head.set_momentum_product(counters.momentum_product);
}

OptimizerKind optimizer_kind(const proto::StageState& head) {
  return find_optimizer(head.optimizer()).value_or(OptimizerKind::kAdamw);
}

OptimizerCounters optimizer_counters(const proto::StageState& head) {
  const bool own = optimizer_info(optimizer_kind(head)).has_momentum_product;
  return {head.updates(), own ? head.momentum_product() : 1.0};
}

uint64_t state_checksum(const void* parameters, uint64_t parameter_bytes, const void* moments,
                        uint64_t moments_bytes, const OptimizerCounters& counters) {
  uint64_t parts[4] = {digest(parameters, parameter_bytes), digest(moments, moments_bytes),
                       counters.updates, 0};
  std::memcpy(&parts[3], &counters.momentum_product, sizeof parts[3]);
  return digest(parts, sizeof parts);
}

uint64_t state_checksum(const StateView& state) {
  const uint64_t bytes = state.head.num_parameters() * sizeof(float);
  return state_checksum(state.payload.data(), bytes, state.payload.data() + bytes,
                        state.payload.size() - bytes, optimizer_counters(state.head));
}

uint64_t payload_bytes(OptimizerKind kind, uint64_t num_parameters) {
  return (1 + optimizer_info(kind).moments.size()) * sizeof(float) * num_parameters;
}

uint64_t max_state_bytes(OptimizerKind kind, uint64_t num_parameters) {
  return payload_bytes(kind, num_parameters) + kMaxHeadBytes;
}

Result<StateView> parse_state(const Buffer& state) {
  const auto end = find_payload(state, kMaxHeadBytes);
  if (!end) return corrupt("the head is damaged or cut off");
  if (end->payload_bytes != state.size() - end->payload_start) {
    return corrupt(fmt::format("the payload should have {} bytes, but there are {}",
                               end->payload_bytes, state.size() - end->payload_start));
  }
  StateView view;
  if (!view.head.ParseFromArray(state.data(), static_cast<int>(end->head_bytes))) {
    return corrupt("the head is not a StageState");
  }
  if (Status status = check_head(view.head); !status) return status.error();
  const uint64_t n = view.head.num_parameters();
  const OptimizerKind kind = optimizer_kind(view.head);
  if (n > UINT64_MAX / payload_bytes(kind, 1) || end->payload_bytes != payload_bytes(kind, n)) {
    return corrupt(
        fmt::format("the payload of {} parameters cannot have {} bytes", n, end->payload_bytes));
  }
  view.payload = state.slice(end->payload_start, state.size() - end->payload_start);
  return view;
}

std::optional<proto::StageState> head_of(const Buffer& front) {
  const auto end = find_payload(front, kMaxHeadBytes);
  proto::StageState head;
  const bool read = end && head.ParseFromArray(front.data(), static_cast<int>(end->head_bytes));
  return read ? std::make_optional(std::move(head)) : std::nullopt;
}

uint64_t history_of(const Buffer& front) {
  const auto head = head_of(front);
  return head ? head->history() : 0;
}

Buffer serialize_state(const proto::StageState& head, const std::vector<PayloadPart>& parts) {
  return serialize_with_payload(head, parts);
}

}  // namespace swarm::tensor
