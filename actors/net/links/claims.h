/// Who may come in under an id or a name that has a link already. Pure.
///
/// Ids and names are what a side says of itself, and other nodes hear of them. Who has proven the run's key
/// is believed: a node that comes back, from wherever. Without a key the address has to do: a second link
/// comes from where the first one does, or from where that one says that it listens. Else it waits until
/// the first one is gone, which is seconds when the node is.
#pragma once

#include "actors/net/links/conn.h"

namespace swarm::actors::links {

/// `remote`: of the new one, "host:port"; empty: not known, which is no reason to refuse. Errors: kRefused.
Status may_claim(const Conns& conns, const NodeInfo& claimant, const std::string& remote);

}  // namespace swarm::actors::links
