/// The few socket calls the links need. Nothing here blocks, except resolve_name().
#pragma once

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors::links {

/// Whether `host` is an IPv4 or IPv6 address, not a name.
bool is_numeric(const std::string& host);

/// Whether the numeric address means "all interfaces".
bool is_wildcard(const std::string& host);

/// First address of `name`, numeric. May block for seconds: call it on a thread of its own.
/// Errors: kIo.
Result<std::string> resolve_name(const std::string& name);

/// A socket on its way to be connected; whoever polls it sees it writable, or an error.
/// Requires a numeric host. Errors: kLinkLost.
Result<int> start_connect(const Endpoint& endpoint);

/// A listening socket bound to exactly this address; `bound` gets the port in use.
/// Requires a numeric host. Errors: kIo.
Result<int> listen_on(const Endpoint& endpoint, Endpoint& bound);

/// Bounds what the kernel queues unsent, so that urgent frames overtake; no delay for small ones.
void tune_socket(int fd);
/// On loopback a long kernel queue adds no throughput, only waiting for urgent frames.
void tune_loopback(int fd);

}  // namespace swarm::actors::links
