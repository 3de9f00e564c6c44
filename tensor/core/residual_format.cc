#include "tensor/core/residual_format.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "swarm/state.pb.h"
#include "tensor/core/flat.h"
#include "tensor/core/payload_format.h"

namespace swarm::tensor {
namespace {

constexpr size_t kMostHeadBytes = 1024;

Error corrupt(const std::string& text) {
  return {ErrorCode::kCorruptCheckpoint, "residuals: " + text, 0};
}

bool within(uint64_t first, uint64_t count, uint64_t num_parameters) {
  return first <= num_parameters && count <= num_parameters - first;
}

/// In memory that is aligned for them.
Residual copied(uint64_t first, const Buffer& bytes) {
  if (bytes.empty()) return {first, {}};
  MutableBuffer values = MutableBuffer::allocate(bytes.size());
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return {first, values.freeze()};
}

bool finite(const Residual& residual) {
  return all_finite(reinterpret_cast<const float*>(residual.values.data()), residual.count());
}

}  // namespace

Buffer serialize_residuals(const Residuals& residuals, const StateMark& state) {
  const Residual &contribution = residuals.contribution, &mean = residuals.mean;
  proto::PeerResiduals head;
  head.set_format_version(kResidualFormatVersion);
  head.set_step(state.step);
  head.set_history(state.history);
  head.set_state_digest(state.digest);
  head.set_contribution_first(contribution.first);
  head.set_contribution_count(contribution.count());
  head.set_mean_first(mean.first);
  head.set_mean_count(mean.count());
  return serialize_with_payload(head, {{contribution.values.data(), contribution.values.size()},
                                       {mean.values.data(), mean.values.size()}});
}

Result<Residuals> parse_residuals(const Buffer& bytes, const StateMark& state,
                                  uint64_t num_parameters) {
  const auto end = find_payload(bytes, kMostHeadBytes);
  proto::PeerResiduals head;
  if (!end || !head.ParseFromArray(bytes.data(), static_cast<int>(end->head_bytes)))
    return corrupt("the head is damaged or cut off");
  if (head.format_version() != kResidualFormatVersion)
    return corrupt(fmt::format("format version {} is unknown", head.format_version()));
  if (head.step() != state.step || head.history() != state.history ||
      head.state_digest() != state.digest)
    return Error{ErrorCode::kNotFound,
                 fmt::format("residuals: they go with another state, of step {}", head.step())};
  if (!within(head.contribution_first(), head.contribution_count(), num_parameters) ||
      !within(head.mean_first(), head.mean_count(), num_parameters))
    return corrupt(fmt::format("of elements that a stage of {} does not have", num_parameters));
  const uint64_t contribution_bytes = head.contribution_count() * sizeof(float);
  const uint64_t mean_bytes = head.mean_count() * sizeof(float);
  if (end->payload_bytes != contribution_bytes + mean_bytes ||
      end->payload_bytes != bytes.size() - end->payload_start)
    return corrupt(fmt::format("a payload of {} bytes, not {}", bytes.size() - end->payload_start,
                               contribution_bytes + mean_bytes));
  Residuals residuals{
      copied(head.contribution_first(), bytes.slice(end->payload_start, contribution_bytes)),
      copied(head.mean_first(), bytes.slice(end->payload_start + contribution_bytes, mean_bytes))};
  if (!finite(residuals.contribution) || !finite(residuals.mean))
    return corrupt("a number is not finite");
  return residuals;
}

}  // namespace swarm::tensor
