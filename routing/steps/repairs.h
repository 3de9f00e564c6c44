/// What a schedule does about peers whose numbers are wrong, that hang, or that fail again and again.
/// State of a Frame, which it is given; pure.
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
  // -- nodes that rest: never the last one of a stage
  /// Something was wrong with a peer: its node may have to rest. True: it rests from now on.
  bool strike(Frame& frame, const PeerId& id, Strikes::Kind kind, const std::string& reason);
  /// As strike(). A peer that rests serves no more.
  void struck(Frame& frame, const PeerId& id, const std::string& reason,
              Strikes::Kind kind = Strikes::Kind::kWrong);
  /// How long a peer that would serve still has to rest; it is set aside then.
  std::optional<Time> rests(const PeerId& id, Frame& frame);
  bool resting(const std::string& node, Time now) const {
    return strikes_.rests(node, now).has_value();
  }
  /// A gathering takes whoever has a state: those that rest leave again.
  void opened(Frame& frame);
  /// Says whose rest is over.
  void tick(Frame& frame);

  // -- devices that hang
  /// A serving peer's device does not finish its job, as it says: it serves no more.
  bool hangs(const PeerId& id, Frame& frame);
  /// One that neither serves nor learns: its device hangs, or still works on what it did when it was silent in a
  /// round. It is set aside.
  bool busy(const PeerId& id, Frame& frame) const;

  /// Those that are not believed are to fetch; which they are.
  std::vector<Replica> replace_odd(Frame& frame, Step step, const std::vector<Replica>& replicas);

  /// `id` does not serve, has the step of those that do, and other bits: nobody has compared them, as it was
  /// away when the others said what they have. They stay, unless their state changed at rest and its did
  /// not: then those are returned, who serve no more.
  std::vector<PeerId> differs(Frame& frame, const PeerId& id);

 private:
  Strikes strikes_;
};

}  // namespace swarm::routing
