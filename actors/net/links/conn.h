/// One connection of a Links actor, from the moment it is dialled or accepted. Plain state of
/// LinksCore and LinkUpkeep.
#pragma once

#include <caf/response_promise.hpp>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "actors/net/links/node_table.h"
#include "actors/net/links/session.h"

namespace swarm::actors::links {

struct Conn {
  std::unique_ptr<Session> session;
  Endpoint dialled;    // port 0: accepted
  std::string remote;  // address of the other side; empty: not known
  bool reading = true;
  bool proven = false;      // up, and the other side has proven the run's key
  TimePoint retired_at{};   // not zero: it carries no new mail any more
  TimePoint given_up_at{};  // not zero: this side told the other that it has no use for it
  std::map<uint64_t, caf::response_promise> waiting;  // own requests on this link

  bool carries_mail() const {
    return session->state() == Session::State::kUp && retired_at == TimePoint{};
  }
};
using Conns = std::unordered_map<ConnId, Conn>;

}  // namespace swarm::actors::links
