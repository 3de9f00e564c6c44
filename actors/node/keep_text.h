/// What a node does when the coordinator tells it what the run learns from.
#pragma once

#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "records/kept_text.h"

namespace swarm::actors {

/// An update was made from the text that the node was told of: the run is bound to it. A disk that
/// does not take it is logged, and no more.
inline void settle_text(records::KeptText& kept) {
  if (auto done = kept.settle(); !done)
    log_warn("event=text_not_kept reason=\"" + done.error().detail + "\"");
}

/// The node tells others from now on. `applied`: updates that the run has made.
inline void keep_text(records::KeptText& kept, const proto::Text& text, Step applied) {
  kept.keep(from_proto(text));
  if (applied > Step(0)) settle_text(kept);
}

}  // namespace swarm::actors
