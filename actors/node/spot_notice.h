/// What a node hears of the end of its machine: spot and preemptible machines are told some time
/// before they are taken away.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "actors/node/event_log.h"

namespace swarm::actors {

struct SpotNotice {
  bool leave = false;  ///< The machine is about to go; else one cannot know whether it is.
  std::string reason;  ///< Which source says so, for people; never empty.
};

/// Records and says what is new, if anything is; true if the node is to leave now.
bool must_leave(const std::optional<SpotNotice>& news, EventLog& events,
                const std::function<void(const std::string&)>& say);

}  // namespace swarm::actors
