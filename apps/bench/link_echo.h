/// How long a node's echo takes over one link, for benchmarks.
#pragma once

#include "common/buffer.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::apps {

struct EchoTimes {
  double round_trip_s = 0;  ///< Of the smallest request, median of 21.
  double echo_s = 0;        ///< Of the body there and back, the first that the connection carries.
  double again_s = 0;  ///< Of the same at once again: what TCP found out about the way is known.
  double later_s = 0;  ///< Of the same after the silence.
};

/// So many bytes, at most 256 MiB.
Buffer echo_body(double bytes);

/// Over a link of its own to that node. Without a silence the body goes there and back once. Errors:
/// kPeerTimeout, kLinkLost, kRefused, kIo.
Result<EchoTimes> measure_echo(const Endpoint& node, const Buffer& body, double silence_s = 0);

}  // namespace swarm::apps
