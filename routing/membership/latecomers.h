/// Whom the next round of a stage waits for: a peer that comes in while a round is under way has no
/// average when it is committed, and is sent back for the mean. Where a mean takes longer to come than
/// a step takes to fill, the next round is under way again when the peer has it, and so for ever. So
/// who was sent back a few times in a row is waited for, once, for as long as a step took: its links
/// carry a mean within that or are too slow anyhow. If it does not come it must try twice as often the
/// next time.
///
/// Pure: time is an argument. One owner: a Schedule.
#pragma once

#include <cstdint>
#include <map>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/membership/roster.h"
#include "routing/time.h"

namespace swarm::routing {

class Latecomers {
 public:
  /// Sent back so many times in a row before it is waited for.
  static constexpr uint32_t kPatience = 2;

  /// At the commit of a step that took so long.
  void sent_back(const PeerId& peer, Time step, Time now);
  /// A round begins with it.
  void took_part(const PeerId& peer) { late_.erase(peer); }
  /// Somebody who is here, and does not serve, is waited for: no round of the stage is to begin now.
  bool awaited(Stage stage, const Roster& roster, Time now) const;

 private:
  struct Late {
    uint32_t times = 0;  ///< Sent back, since it was waited for.
    uint32_t patience = kPatience;
    Time until{};  ///< It is waited for.
  };
  std::map<PeerId, Late> late_;
};

}  // namespace swarm::routing
