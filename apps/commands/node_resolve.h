/// What a command line of `swarm node` says of the node, checked.
#pragma once

#include <string>
#include <vector>

#include "actors/node/options.h"
#include "apps/commands/commands.h"

namespace swarm::apps {

struct NodeArguments {
  ConfigArguments config;
  std::string name, listen, announce, run_folder, follow_links, key_file, collect;
  std::vector<std::string> join, stages;
  bool trainer = false, stay = false, launched = false;
};

/// Says on stderr why the node does not start. Returns the exit code.
int refuse_node(const std::string& why);

/// Fills in the options of the node and the experiment as its records keep it, or returns the exit code
/// that refuses them; has said why.
int resolve_node(const NodeArguments& a, actors::NodeOptions& options, std::string& config);

}  // namespace swarm::apps
