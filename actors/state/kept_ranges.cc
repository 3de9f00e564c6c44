#include "actors/state/kept_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "swarm/state.pb.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

constexpr uint32_t kFormat = 3;  // 2: without histories; 1: the digest was of a range's bytes alone

Error corrupt(const std::string& what) {
  return {ErrorCode::kCorruptCheckpoint, "ranges on disk: " + what};
}

/// Of all that is said of the range, and of its bytes: a label or a counter with another bit would be
/// as wrong.
uint64_t digest_of(const KeptRange& range) {
  uint64_t momentum = 0;
  std::memcpy(&momentum, &range.counters.momentum_product, sizeof(momentum));
  const std::array<uint64_t, 7> parts{range.range,
                                      range.label.step.value(),
                                      range.label.checksum,
                                      range.label.history.value(),
                                      range.counters.updates,
                                      momentum,
                                      tensor::digest(range.bytes.data(), range.bytes.size())};
  return tensor::digest(parts.data(), sizeof(parts));
}

Status check(const RangeLayout& layout, const proto::KeptRanges& head) {
  const auto of_another = [](const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, "ranges on disk are " + what};
  };
  if (head.format_version() != kFormat)
    return of_another(fmt::format("of format {}, not {}", head.format_version(), kFormat));
  if (head.run_id() != layout.run_id)
    return of_another(fmt::format("of run '{}', not '{}'", head.run_id(), layout.run_id));
  if (head.config_fingerprint() != layout.config_fingerprint)
    return of_another("of another configuration");
  if (Stage(head.stage()) != layout.stage)
    return of_another(fmt::format("of stage {}, not {}", head.stage(), layout.stage));
  if (head.num_parameters() != layout.elements || head.vectors() != layout.vectors ||
      head.range_elements() != layout.range_elements)
    return of_another(
        fmt::format("cut otherwise: {} vectors of {} elements by {}, not {} of {} by "
                    "{}",
                    head.vectors(), head.num_parameters(), head.range_elements(), layout.vectors,
                    layout.elements, layout.range_elements));
  return {};
}

}  // namespace

std::string learned_key(Stage stage) { return fmt::format("{}{}", kLearnedStreams, stage); }

uint64_t RangeLayout::bytes(uint64_t range) const {
  const uint64_t count = std::min(range_elements, elements - range * range_elements);
  return count * vectors * sizeof(float);
}

Buffer encode_kept(const RangeLayout& layout, const std::vector<KeptRange>& ranges) {
  proto::KeptRanges head;
  head.set_format_version(kFormat);
  head.set_run_id(layout.run_id);
  head.set_config_fingerprint(layout.config_fingerprint);
  head.set_stage(layout.stage.value());
  head.set_num_parameters(layout.elements);
  head.set_vectors(layout.vectors);
  head.set_range_elements(layout.range_elements);
  for (const KeptRange& range : ranges) {
    auto* one = head.add_ranges();
    one->set_range(range.range);
    one->set_step(range.label.step.value());
    one->set_checksum(range.label.checksum);
    one->set_history(range.label.history.value());
    one->set_updates(range.counters.updates);
    one->set_momentum_product(range.counters.momentum_product);
    one->set_digest(digest_of(range));
    head.mutable_payload()->append(range.bytes.view());
  }
  return Buffer::from_string(head.SerializeAsString());
}

Result<std::vector<KeptRange>> decode_kept(const RangeLayout& layout, const Buffer& block) {
  auto head = std::make_shared<proto::KeptRanges>();
  if (!head->ParseFromArray(block.data(), static_cast<int>(block.size())))
    return corrupt("not a block of ranges");
  if (auto same = check(layout, *head); !same) return same.error();
  const Buffer payload(head, head->payload().data(), head->payload().size());
  std::vector<KeptRange> ranges;
  uint64_t at = 0;
  for (const auto& one : head->ranges()) {
    if (one.range() >= layout.ranges()) return corrupt("a range outside of the state");
    const uint64_t bytes = layout.bytes(one.range());
    if (bytes > payload.size() - at) return corrupt("the block is cut short");
    KeptRange range;
    range.range = one.range();
    range.label = {Step(one.step()), one.checksum(), routing::History(one.history())};
    range.counters = {one.updates(), one.momentum_product()};
    range.bytes = payload.slice(at, bytes);
    if (digest_of(range) != one.digest()) return corrupt("a range's digest differs");
    at += bytes;
    ranges.push_back(std::move(range));
  }
  if (at != payload.size()) return corrupt("there is more than its ranges");
  return ranges;
}

}  // namespace swarm::actors
