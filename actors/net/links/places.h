/// Whether one more connection may come in from an address: nobody takes all places, and a part of those
/// before the hello is kept for hosts that are known. Pure.
#pragma once

#include <string>

#include "actors/net/links/conn.h"
#include "actors/net/options.h"

namespace swarm::actors::links {

/// Of an address, "host:port", as comparable as it can be without a look-up; empty: not known.
std::string host_of(const std::string& address);

/// `from`: "host:port" or empty. One host gets half of the places before the hello and half of all
/// connections; hosts that no known node is at get three quarters of those before the hello.
bool has_place(const Conns& conns, const NodeTable& nodes, const LinksOptions& options,
               const std::string& from);

}  // namespace swarm::actors::links
