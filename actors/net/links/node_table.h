/// Which nodes a Links actor knows, how they are reached, and which of several links to one node
/// carries new mail. Pure: no time but what it is told; one owner.
///
///   named ----link up----> linked ----last link lost----> down ----told() anew----> named
///
/// A NodeId is new at each start of a process, so nearly all ids that are ever named belong to dead
/// processes: a node that is not linked and was not used for kForgetAfter should be forgotten.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "actors/net/links/links.h"

namespace swarm::actors::links {

using ConnId = uint64_t;

class NodeTable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kForgetAfter{60};

  struct Link {
    ConnId conn = 0;
    bool dialled = false;  ///< By this node.
  };
  struct Node {
    NodeInfo info;            ///< Valid once it was linked.
    Endpoint endpoint;        ///< Where to dial; port 0: not known.
    bool down = false;        ///< Was up and is gone, or another lives there: not dialled.
    std::vector<Link> links;  ///< The first carries new mail.
    TimePoint used{};         ///< Named, told of, linked or written to for the last time.
  };

  explicit NodeTable(NodeId self) : self_(self) {}

  /// Somebody holds a proxy of one of its actors, or writes to one: remembers the node.
  Node& use(const NodeId& id, TimePoint now);
  /// Somebody knows that it listens at `endpoint`: a node that was down may be dialled again.
  void told(const NodeId& id, const Endpoint& endpoint, TimePoint now);
  /// Another process answers at its address.
  void replaced(const NodeId& id);

  struct Up {
    bool first = false;  ///< The node was not linked before.
    std::vector<ConnId>
        retired;  ///< These carry no new mail any more; they may have some under way.
  };
  /// A link to `info.id` is up; `dialled` is where this node dialled it, port 0: accepted. Of
  /// several links that of the smaller id's dialling carries new mail, and of those the newest, so
  /// that both sides choose the same.
  Up up(const NodeInfo& info, const Endpoint& dialled, ConnId conn, TimePoint now);

  /// Neither side has a use for the link any more: new mail dials anew. The node is not down.
  /// Returns the link that carries it instead; 0: there is none.
  ConnId retired(const NodeId& id, ConnId conn, TimePoint now);

  struct Lost {
    bool last = false;   ///< The node is down.
    ConnId carries = 0;  ///< Otherwise: the link that carries new mail now; 0: `conn` was unknown.
  };
  Lost lost(const NodeId& id, ConnId conn, TimePoint now);

  /// Null when not known.
  const Node* find(const NodeId& id) const;
  /// Nodes without a link that were not used for kForgetAfter.
  std::vector<NodeId> idle(TimePoint now) const;
  void forget(const NodeId& id) { nodes_.erase(id); }
  const std::unordered_map<NodeId, Node>& all() const { return nodes_; }

 private:
  const NodeId self_;
  std::unordered_map<NodeId, Node> nodes_;
};

}  // namespace swarm::actors::links
