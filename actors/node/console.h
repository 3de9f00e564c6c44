/// Answers the remote console on every node: one command line in, text out (README, Console).
///
///   mail (Mail)       reply
///   ConsoleRequest    ConsoleReply      always; errors travel in the text with `failed`
///   ConsoleOrder      ConsoleReply      the same, and commands that act are taken: links pass it on
///                                       from who has proven the run's key only (net/mail_roles.h)
///
/// The commands stand in a table, console_commands.cc.
/// Thread  pooled; asks other actors and remote nodes with deadlines, never waits.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <memory>
#include <string>

#include "actors/node/options.h"
#include "records/lost_lines.h"

namespace swarm::actors {

struct ConsoleDeps {
  NodeId node;
  std::string node_name;
  DhtOptions dht_options;
  caf::actor links, dht;
  caf::actor supervisor;  ///< Knows the actors of this node (actors/node/node_supervisor.h).
  records::LostLines lost_lines;  ///< Of this node; shared with who counts them. May be null.
};

/// Registers itself with `links` as "console".
caf::actor spawn_console(caf::actor_system& system, ConsoleDeps deps);

}  // namespace swarm::actors
