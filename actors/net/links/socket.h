/// The few socket calls the links need. Nothing here blocks, except resolve_name(),
/// first_that_answers() and connect_now().
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors {
struct LinksOptions;
}

namespace swarm::actors::links {

/// Whether `host` is an IPv4 or IPv6 address, not a name.
bool is_numeric(const std::string& host);

/// Where somebody listens, as others say: a number, for what others say makes no node look a name up. Errors:
/// kInvalidArgument.
Result<Endpoint> told_endpoint(const std::string& text);

/// Whether the numeric address means "all interfaces".
bool is_wildcard(const std::string& host);

/// The addresses of `name`, numeric, in the order to try them; never empty. May block for seconds:
/// call it on a thread of its own. Errors: kIo.
Result<std::vector<std::string>> resolve_name(const std::string& name);

/// Of a name's addresses, at least one, the first of the kind that `listen` is; IPv4 of "::", which takes both.
std::string to_announce(const std::vector<std::string>& addresses, const std::string& listen);

/// What a node tells others of where it is: options.announce with the address of its name, which nobody
/// else has to look up then; of several as to_announce(). Empty stays empty. May block
/// as resolve_name(). Errors: kIo; kInvalidArgument (the name means this machine here, as in many
/// /etc/hosts).
Result<Endpoint> announced(const LinksOptions& options);

/// The first of a name's addresses at which somebody listens on `port`: "localhost" is ::1 and
/// 127.0.0.1 on many machines. Waits up to `patience` for each. If nobody does, the first: whoever
/// connects to it finds out why. Requires at least one; a single one is not tried.
std::string first_that_answers(const std::vector<std::string>& addresses, uint16_t port,
                               std::chrono::milliseconds patience);

/// A connected socket, not blocking. Waits up to `patience` for all addresses of a name, and as long
/// as the look-up of the name takes. Errors, in the system's words ("cannot resolve 'x': ...",
/// "10.0.0.1:7000: Connection refused", "... no answer within 3000 ms"): kLinkLost.
Result<int> connect_now(const Endpoint& endpoint, std::chrono::milliseconds patience);

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
