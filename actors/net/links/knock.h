/// Finds out who listens at an address, outside of a node's table of links: for a node that is asked
/// whether it can dial another one back, and to say why an address does not answer.
#pragma once

#include "actors/net/links/links.h"
#include "actors/net/options.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::actors::links {

/// Connects to `at`, exchanges hellos as a tool under an id of its own, and closes. Blocks for the
/// look-up of a name, up to one options.dial_timeout for each of its addresses, and one for the
/// hello: call it on a thread of its own. Errors in words that say what is wrong: kLinkLost (name,
/// connection), kPeerTimeout (no hello), kRefused.
Result<NodeInfo> knock(const Endpoint& at, const LinksOptions& options);

}  // namespace swarm::actors::links
