/// Events that a node writes about itself, whatever its roles.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct NodeStarted {
  static constexpr EventInfo kInfo{"started", Level::kInfo, Place::kNone, kPlain,
                                   "The node listens."};
  std::string endpoint, id;
  template <class Visitor>
  void fields(Visitor& v) {
    v("endpoint", endpoint, "HOST:PORT where others reach it");
    v("id", id, "32 hex digits, drawn anew at every start");
  }
};

struct NodeLeaving {
  static constexpr EventInfo kInfo{"leaving", Level::kInfo, Place::kNone, kPlain,
                                   "The node was told to end and takes no more work."};
  template <class Visitor>
  void fields(Visitor&) {}
};

struct NodeLeft {
  static constexpr EventInfo kInfo{"left", Level::kInfo, Place::kNone, kPlain,
                                   "Everything it holds is saved; the process ends."};
  template <class Visitor>
  void fields(Visitor&) {}
};

struct StopAsked {
  static constexpr EventInfo kInfo{"stop_asked", Level::kWarn, Place::kNone, kPlain,
                                   "Somebody asked over the network that the node stop."};
  bool at_once = false;
  std::string reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("at_once", at_once, "without saving anything");
    v("reason", reason, "as the sender gave it");
  }
};

struct ActorFailed {
  static constexpr EventInfo kInfo{"actor_failed", Level::kError, Place::kNone, kNeedsReason,
                                   "An actor of the node has ended; its role is started again."};
  std::string actor, reason;
  template <class Visitor>
  void fields(Visitor& v) {
    v("actor", actor, "which one, for example `stage.0`");
    v("reason", reason, "why it ended");
  }
};

using NodeEvents = EventList<NodeStarted, NodeLeaving, NodeLeft, StopAsked, ActorFailed>;

}  // namespace swarm::records
