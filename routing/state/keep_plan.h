/// Which of the ranges that a learner holds go to its disk next, so that its download survives its
/// process (docs/averaging.md, "After a restart"). Carried out by actors/stage/range_keeper.cc.
///
/// Neighbouring ranges make a *block*, which is written as a whole. The block with the most that the
/// disk does not have goes first, of equals the one written longest ago. Nothing is written in the
/// first seconds, nor more than options.bytes_per_s, nor more than twice what has come over the
/// links: each step changes all that is held, and a slow link's learner must not wear out a disk.
///
/// Ranges that are more than a few steps old are of no use to the next process. So no more blocks are
/// kept than can be written again within two steps: of a state that is too large for that, or a disk
/// too slow, a part is kept, always the same, and the rest is not written at all.
///
/// Pure: time is an argument. Not thread-safe; one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "routing/state/state_label.h"
#include "routing/time.h"

namespace swarm::routing {

struct KeepOptions {
  size_t ranges = 1;         ///< >= 1.
  uint64_t range_bytes = 1;  ///< Of a range's state, but for the last; >= 1.
  double bytes_per_s = 0;    ///< At most; 0: nothing is kept.
};

class KeepPlan {
 public:
  /// A download that is over sooner leaves nothing on the disk.
  static constexpr Time kFirstAfter = std::chrono::seconds(5);
  /// Written per byte that came, at most.
  static constexpr double kPerByte = 2;
  /// Steps within which all that is kept is written again.
  static constexpr double kSteps = 2;

  KeepPlan(const KeepOptions& options, Time now);

  size_t blocks() const { return written_at_.size(); }
  /// First range and the one after the last.
  std::pair<size_t, size_t> ranges(size_t block) const;

  /// The disk has the range so.
  void stored(size_t range, const StateLabel& label);
  /// What the disk has of the block is worth nothing any more.
  void spoiled(size_t block);

  /// What is known of the download.
  struct Download {
    uint64_t received = 0;  ///< Bytes that came so far.
    double step_s = 0;      ///< What a step takes; 0: not known.
  };
  /// The block to write now. `held`: by range.
  std::optional<size_t> next(const std::vector<std::optional<StateLabel>>& held,
                             const Download& download, Time now);
  /// So many bytes of it are on their way to the disk.
  void writes(size_t block, uint64_t bytes, Time now);
  /// So many are there, after so long.
  void wrote(uint64_t bytes, Time took);
  /// Blocks that are written again and again, at most.
  size_t most_blocks(double step_s) const;

 private:
  size_t block_of(size_t range) const { return range / per_block_; }
  uint64_t block_bytes() const { return per_block_ * options_.range_bytes; }
  void keep_at_most(size_t most);

  KeepOptions options_;
  size_t per_block_ = 1;
  std::vector<std::optional<StateLabel>> stored_;  // by range
  std::vector<Time> written_at_;                   // by block
  std::vector<bool> kept_;                         // by block: it is written again
  uint64_t written_ = 0;
  double disk_s_per_byte_ = 0;  // 0: not known
  Time not_before_;
};

}  // namespace swarm::routing
