/// The files of a run (docs/run_folder.md).
#pragma once

#include <sys/types.h>

#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "config/experiment.h"

namespace swarm::launch {

/// Makes FOLDER/NAME/TIME (UTC; "-2" and so on if taken), gives the run its id, writes config.toml.
/// Errors: kIo (also: its mirror is not there or cannot be listed).
Result<std::string> make_run_folder(config::Experiment& experiment);

/// Whether make_run_folder() has made it. Errors: kNotFound.
Status check_run_folder(const std::string& folder);

/// The run of which this is a node's folder; "": it is none.
std::string run_of_node(const std::string& folder);

/// Of a run's folder. Errors: kNotFound (it is none), kInvalidArgument (its file has errors; a line
/// for each).
Result<config::Experiment> read_experiment_of(const std::string& folder);

/// `experiment` with the stages that its nodes serve now: they may have moved (docs/elastic.md).
config::Experiment as_served(config::Experiment experiment, const std::string& folder);

/// Why a run that has closed steps cannot go on: the stages of which no node has a database left, if neither
/// the mirror nor copies on other nodes complete a step. "": it may; whether what the databases hold suffices is seen when their nodes have opened them.
std::string missing_databases(const std::string& folder, const config::Experiment& experiment);

/// What a run in the folder has left behind is moved to its "before-TIME/"; config.toml and the run's key
/// stay. Returns that folder. Requires that no process works in it. Errors: kIo.
Result<std::string> set_history_aside(const std::string& folder);

/// The files that the mirror has of the run make room for those of a run that begins anew under its id.
/// Errors: kIo (also: the mirror is not there or cannot be listed).
Status set_mirror_aside(const config::Experiment& experiment);

/// What a node says of itself once it listens: <node folder>/node.json.
struct NodeFile {
  std::string name;
  pid_t pid = 0;
  NodeId node_id{};
  Endpoint endpoint{};

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name);
    v("pid", pid);
    v("node_id", node_id);
    v("endpoint", endpoint);
  }
};
/// Atomic. Errors: kIo.
Status write_node_file(const std::string& node_folder, const NodeFile& file);
/// Errors: kNotFound, kInvalidArgument.
Result<NodeFile> read_node_file(const std::string& node_folder);

/// Ends when the process does: no second `swarm run` works in the folder. Errors: kIo (locked).
Status lock_folder(const std::string& folder);

}  // namespace swarm::launch
