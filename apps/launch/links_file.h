/// RUN/links.toml: how `swarm run` tells nodes what their links have become (docs/bad_network.md).
/// The launcher writes it, each node reads it; one owner each, no threads.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/net/links/shape/options.h"
#include "common/result.h"
#include "config/experiment.h"

namespace swarm::launch {

/// RUN/links.toml of a run folder.
std::string links_file(const std::string& run_folder);

/// The launcher's side.
class LinksFileWriter {
 public:
  explicit LinksFileWriter(std::string path) : path_(std::move(path)) {}

  /// Whether nodes have reason to follow the file: an experiment that changes or cuts links, or a
  /// file that is there already.
  bool wanted(const config::Experiment& experiment) const;

  /// Puts `change` behind what the file says already; readers see the old content or the new.
  /// Errors: kIo, kInvalidArgument (somebody has spoilt the file: it is left as it is).
  Status append(const actors::ShapeChange& change);
  /// Cuts `node` ("*": every one) off from all others, or heals that; who else is cut stays so. Errors: as
  /// append().
  Status cut(const std::string& node, bool on);

 private:
  Status append(const std::vector<actors::ShapeChange>& changes);

  std::string path_;
  std::set<std::string> cut_;  // by name
};

/// A node's side.
class LinksFileReader {
 public:
  /// `before`: what the experiment says, which the file's changes are applied to.
  LinksFileReader(std::string path, std::string node_name, actors::ShapeOptions before)
      : path_(std::move(path)), node_name_(std::move(node_name)), before_(std::move(before)) {}

  /// What the file has come to say since the last call, or what is wrong with it; nothing while it
  /// is as it was or has never been there. Errors: kIo, kInvalidArgument.
  std::optional<Result<actors::ShapeOptions>> poll();

 private:
  const std::string path_, node_name_;
  const actors::ShapeOptions before_;
  struct stat seen_ {};
};

}  // namespace swarm::launch
