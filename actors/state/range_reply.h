/// StateRangeReply, decoded.
#pragma once

#include "routing/state/state_label.h"
#include "swarm/state.pb.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

/// Of the range, once it has been taken.
inline routing::StateLabel label_of(const proto::StateRangeReply& head) {
  return {Step(head.step()), head.checksum(), routing::History(head.history())};
}

/// Of the source's own state.
inline routing::StateLabel newest_of(const proto::StateRangeReply& head) {
  return {Step(head.newest_step()), head.newest_checksum(),
          routing::History(head.newest_history())};
}

/// Of a mean.
inline tensor::UpdateScales scales_of(const proto::StateRangeReply& head) {
  return {head.clip_scale(), {head.factors().begin(), head.factors().end()}};
}

}  // namespace swarm::actors
