/// A running node's holdings, read over a link (docs/collecting.md).
#pragma once

#include <caf/actor.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/tool_link.h"
#include "apps/launch/node_source.h"

namespace swarm::apps {

class RemoteNode : public launch::NodeSource {
 public:
  struct Known {
    std::optional<NodeId> id;  ///< Empty: whoever answers there.
    Endpoint endpoint;
  };
  /// `link` outlives it. Errors: kRefused (no key, another, or another node), kLinkLost,
  /// kPeerTimeout; of a node with an id they come with the first question.
  static Result<RemoteNode> at(ToolLink& link, const Known& node);

  /// What it holds; fills `known` with the nodes that it knows of.
  Result<launch::Holdings> list(std::vector<Known>& known);
  Result<Buffer> read_file(const std::string& name, uint64_t offset) override;
  Result<launch::SnapshotPart> read_snapshot(const launch::HeldSnapshot& which,
                                             uint64_t offset) override;
  /// All that it holds is here: it need not stay for it. `finished`: the run is.
  Status tell_collected(bool finished);

 private:
  RemoteNode(ToolLink& link, caf::actor desk) : link_(&link), desk_(std::move(desk)) {}

  ToolLink* link_;
  caf::actor desk_;
};

}  // namespace swarm::apps
