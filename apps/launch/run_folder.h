/// The files of a run (docs/run_folder.md).
#pragma once

#include <sys/types.h>

#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "config/experiment.h"

namespace swarm::launch {

/// Makes FOLDER/NAME/TIME (UTC; "-2" and so on if taken), gives the run its id, writes config.toml.
/// Errors: kIo.
Result<std::string> make_run_folder(config::Experiment& experiment);

/// What a node says of itself once it listens: <node folder>/node.json.
struct NodeFile {
  std::string name;
  pid_t pid = 0;
  NodeId node_id;
  Endpoint endpoint;
};
/// Atomic. Errors: kIo.
Status write_node_file(const std::string& node_folder, const NodeFile& file);
/// Errors: kNotFound, kInvalidArgument.
Result<NodeFile> read_node_file(const std::string& node_folder);

/// Writes a temporary file and renames it. Errors: kIo.
Status write_atomically(const std::string& path, const std::string& content);

/// One write(2) of a line to a file that only this process appends to. Errors: kIo.
Status append_line(const std::string& path, const std::string& line);
/// Removes a last line without an end: its writer died in it. A missing file is fine. Errors: kIo.
Status drop_torn_end(const std::string& path);

/// Ends when the process does: no second `swarm run` works in the folder. Errors: kIo (locked).
Status lock_folder(const std::string& folder);

}  // namespace swarm::launch
