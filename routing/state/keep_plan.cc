#include "routing/state/keep_plan.h"

#include <algorithm>

#include "common/check.h"

namespace swarm::routing {
namespace {

/// A state has about so many blocks, unless they would be shorter or longer [bytes].
constexpr uint64_t kBlocks = 64, kShortest = 16u << 10, kLongest = 8u << 20;
/// How fast the estimate of the disk follows.
constexpr double kOfTheNewest = 0.3;

}  // namespace

KeepPlan::KeepPlan(const KeepOptions& options, Time now)
    : options_(options), stored_(options.ranges), not_before_(now + kFirstAfter) {
  SWARM_CHECK(options.ranges > 0 && options.range_bytes > 0);
  const uint64_t block =
      std::clamp(options.ranges * options.range_bytes / kBlocks, kShortest, kLongest);
  per_block_ = std::max<size_t>(1, block / options.range_bytes);
  written_at_.assign((options.ranges + per_block_ - 1) / per_block_, Time(-1));
  kept_.assign(blocks(), false);
}

std::pair<size_t, size_t> KeepPlan::ranges(size_t block) const {
  return {block * per_block_, std::min(options_.ranges, (block + 1) * per_block_)};
}

void KeepPlan::spoiled(size_t block) {
  const auto [first, end] = ranges(block);
  for (size_t range = first; range < end; ++range) stored_[range].reset();
}

void KeepPlan::stored(size_t range, const StateLabel& label) {
  stored_[range] = label;
  kept_[block_of(range)] = true;
}

/// Twice what comes is enough for that: a step brings the mean of all that is held.
size_t KeepPlan::most_blocks(double step_s) const {
  if (step_s <= 0) return blocks();
  double rate = options_.bytes_per_s;
  if (disk_s_per_byte_ > 0) rate = std::min(rate, 1 / disk_s_per_byte_);
  const double most = kSteps * step_s * rate / static_cast<double>(block_bytes());
  if (most >= static_cast<double>(blocks())) return blocks();
  return std::max<size_t>(1, static_cast<size_t>(most));
}

/// Those written longest ago go. What is measured varies: a few too many do no harm.
void KeepPlan::keep_at_most(size_t most) {
  auto kept = static_cast<size_t>(std::count(kept_.begin(), kept_.end(), true));
  if (kept <= most + most / 4) return;
  for (; kept > most; --kept) {
    std::optional<size_t> oldest;
    for (size_t block = 0; block < blocks(); ++block)
      if (kept_[block] && (!oldest || written_at_[block] < written_at_[*oldest])) oldest = block;
    kept_[*oldest] = false;
  }
}

std::optional<size_t> KeepPlan::next(const std::vector<std::optional<StateLabel>>& held,
                                     const Download& download, Time now) {
  const bool may =
      options_.bytes_per_s > 0 && now >= not_before_ &&
      static_cast<double>(written_) < kPerByte * static_cast<double>(download.received);
  if (!may) return std::nullopt;
  const size_t most_kept = most_blocks(download.step_s);
  keep_at_most(most_kept);
  const bool full = static_cast<size_t>(std::count(kept_.begin(), kept_.end(), true)) >= most_kept;
  std::optional<size_t> best;
  size_t most = 0;
  for (size_t block = 0; block < blocks(); ++block) {
    if (full && !kept_[block]) continue;
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

void KeepPlan::wrote(uint64_t bytes, Time took) {
  if (bytes == 0) return;
  const double found = std::chrono::duration<double>(took).count() / static_cast<double>(bytes);
  disk_s_per_byte_ =
      disk_s_per_byte_ > 0 ? disk_s_per_byte_ + kOfTheNewest * (found - disk_s_per_byte_) : found;
}

void KeepPlan::writes(size_t block, uint64_t bytes, Time now) {
  written_ += bytes;
  written_at_[block] = now;
  kept_[block] = true;
  const std::chrono::duration<double> takes(static_cast<double>(bytes) / options_.bytes_per_s);
  constexpr std::chrono::duration<double> kMost = std::chrono::hours(1);
  not_before_ =
      std::max(not_before_, now) + std::chrono::duration_cast<Time>(std::min(takes, kMost));
}

}  // namespace swarm::routing
