#include "routing/state/keep_plan.h"

#include <algorithm>

#include "common/check.h"

namespace swarm::routing {
namespace {

/// A state has about so many blocks, unless they would be shorter or longer [bytes].
constexpr uint64_t kBlocks = 64, kShortest = 16u << 10, kLongest = 8u << 20;

}  // namespace

KeepPlan::KeepPlan(const KeepOptions& options, Time now)
    : options_(options), stored_(options.ranges), not_before_(now + kFirstAfter) {
  SWARM_CHECK(options.ranges > 0 && options.range_bytes > 0);
  const uint64_t block =
      std::clamp(options.ranges * options.range_bytes / kBlocks, kShortest, kLongest);
  per_block_ = std::max<size_t>(1, block / options.range_bytes);
  written_at_.assign((options.ranges + per_block_ - 1) / per_block_, Time(-1));
}

std::pair<size_t, size_t> KeepPlan::ranges(size_t block) const {
  return {block * per_block_, std::min(options_.ranges, (block + 1) * per_block_)};
}

void KeepPlan::spoiled(size_t block) {
  const auto [first, end] = ranges(block);
  for (size_t range = first; range < end; ++range) stored_[range].reset();
}

std::optional<size_t> KeepPlan::next(const std::vector<std::optional<StateLabel>>& held,
                                     uint64_t received, Time now) const {
  const bool may = options_.bytes_per_s > 0 && now >= not_before_ &&
                   static_cast<double>(written_) < kPerByte * static_cast<double>(received);
  if (!may) return std::nullopt;
  std::optional<size_t> best;
  size_t most = 0;
  for (size_t block = 0; block < blocks(); ++block) {
    const auto [first, end] = ranges(block);
    size_t news = 0;
    for (size_t range = first; range < end; ++range)
      if (held[range] && held[range] != stored_[range]) ++news;
    if (news == 0 || news < most) continue;
    if (best && news == most && written_at_[block] >= written_at_[*best]) continue;
    best = block;
    most = news;
  }
  return best;
}

void KeepPlan::writes(size_t block, uint64_t bytes, Time now) {
  written_ += bytes;
  written_at_[block] = now;
  const std::chrono::duration<double> takes(static_cast<double>(bytes) / options_.bytes_per_s);
  constexpr std::chrono::duration<double> kMost = std::chrono::hours(1);
  not_before_ =
      std::max(not_before_, now) + std::chrono::duration_cast<Time>(std::min(takes, kMost));
}

}  // namespace swarm::routing
