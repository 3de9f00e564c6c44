/// The one place where our Error becomes caf::error and back.
#pragma once

#include <caf/error.hpp>

#include "common/result.h"
#include "swarm/error.pb.h"

namespace swarm::actors {

caf::error to_caf(const Error& error);
caf::error to_caf(ErrorCode code, std::string detail = {});

/// Errors of our category come back whole. Of CAF's own: request_timeout is kPeerTimeout;
/// request_receiver_down and exit reasons are kLinkLost; all else is kInternal with CAF's text.
Error from_caf(const caf::error& error);

/// Whether a dial that failed with this reached nobody: a node that has no room for another connection
/// was reached, and is to be tried again. No error: another node was.
bool nobody_reached(const caf::error& error);

proto::Error to_proto(const Error& error);
/// Unknown codes become kInternal.
Error from_proto(const proto::Error& error);

}  // namespace swarm::actors
