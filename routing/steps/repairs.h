/// What a schedule does about peers whose numbers are wrong. State of a Frame, which it is given; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/strong_id.h"
#include "routing/membership/odd_replicas.h"
#include "routing/membership/strikes.h"
#include "routing/time.h"

namespace swarm::routing {

struct Frame;

class Repairs {
 public:
  /// The peer is to drop its gradient sum: nothing of it counts.
  void refuse_sum(Frame& frame, const PeerId& id, const std::string& reason);
  /// A peer did something wrong: the second time its node rests.
  void struck(Frame& frame, const PeerId& id, const std::string& reason);
  /// How long a peer that would serve still has to rest; it is set aside then.
  std::optional<Time> rests(const PeerId& id, Frame& frame) const;
  /// Those that are not believed are to fetch; which they are.
  std::vector<Replica> replace_odd(Frame& frame, Stage stage, Step step,
                                   const std::vector<Replica>& replicas);

 private:
  Strikes strikes_;
};

}  // namespace swarm::routing
