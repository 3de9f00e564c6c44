/// The means of the last updates, as long as somebody learns: which are kept, which leads on from
/// where. Without a learner none is kept, so that rounds reuse their memory.
///
/// Pure: time is an argument. One owner: the donor's side of the state transfer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/strong_id.h"
#include "routing/state/state_label.h"
#include "routing/time.h"

namespace swarm::routing {

/// An update that was made.
struct AppliedMean {
  StateLabel before, after;
  Round round;
  uint64_t digest = 0;    ///< Of `mean`.
  double clip_scale = 1;  ///< What the mean was multiplied by.
  /// What a layer-wise optimizer multiplied each matrix's update by; none of others.
  std::vector<float> factors{};
  Buffer mean;  ///< float32 [parameters]
};

class RecentMeans {
 public:
  /// A range that is behind by more gets its state anew.
  static constexpr size_t kKept = 3;
  /// A learner that has been silent for as long, and for more updates than are kept, is gone.
  static constexpr Time kPatience = std::chrono::seconds(30);

  /// A learner was here, or one may come.
  void asked(Time now);
  void applied(AppliedMean mean, Time now);
  /// The state was replaced: nothing leads on to it.
  void clear() { kept_.clear(); }
  /// The mean that leads on from `label`, or null. Valid until the next call.
  const AppliedMean* from(const StateLabel& label) const;
  size_t kept() const { return kept_.size(); }
  bool wanted() const { return asked_.has_value(); }

 private:
  std::deque<AppliedMean> kept_;  // oldest first
  std::optional<Time> asked_;     // last; none: nobody learns
  size_t since_asked_ = 0;        // updates
};

}  // namespace swarm::routing
