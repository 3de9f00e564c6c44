/// What a node does when the coordinator tells it what the run learns from.
#pragma once

#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "records/kept_text.h"

namespace swarm::actors {

/// The node tells others from now on. A disk that does not take it is logged, and no more.
inline void keep_text(records::KeptText& kept, const proto::Text& text) {
  if (auto done = kept.keep(from_proto(text)); !done)
    log_warn("event=text_not_kept reason=\"" + done.error().detail + "\"");
}

}  // namespace swarm::actors
