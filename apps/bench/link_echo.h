/// How long a node's echo takes over one link, for benchmarks.
#pragma once

#include "common/buffer.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::apps {

struct EchoTimes {
  double round_trip_s = 0;  ///< Of the smallest request, median of 21.
  double echo_s = 0;        ///< Of the body there and back.
};

/// So many bytes, at most 256 MiB.
Buffer echo_body(double bytes);

/// Over a link of its own to that node. Errors: kPeerTimeout, kLinkLost, kRefused, kIo.
Result<EchoTimes> measure_echo(const Endpoint& node, const Buffer& body);

}  // namespace swarm::apps
