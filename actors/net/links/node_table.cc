#include "actors/net/links/node_table.h"

#include <algorithm>

namespace swarm::actors::links {

NodeTable::Node& NodeTable::use(const NodeId& id, TimePoint now) {
  Node& node = nodes_[id];
  node.used = now;
  return node;
}

void NodeTable::told(const NodeId& id, const Endpoint& endpoint, TimePoint now) {
  Node& node = use(id, now);
  node.endpoint = endpoint;
  node.down = false;
}

void NodeTable::replaced(const NodeId& id) {
  auto it = nodes_.find(id);
  if (it != nodes_.end()) it->second.down = true;
}

NodeTable::Up NodeTable::up(const NodeInfo& info, const Endpoint& dialled, ConnId conn,
                            TimePoint now) {
  Node& node = use(info.id, now);
  node.info = info;
  node.down = false;
  if (info.endpoint.port != 0) {
    node.endpoint = info.endpoint;
  } else if (dialled.port != 0) {
    node.endpoint = dialled;
  }
  Up up;
  up.first = node.links.empty();
  const Link link{conn, dialled.port != 0};
  auto by_smaller_id = [&](const Link& one) { return one.dialled == (self_ < info.id); };
  if (up.first || by_smaller_id(link) || !by_smaller_id(node.links.front())) {
    for (const Link& other : node.links) up.retired.push_back(other.conn);
    node.links.insert(node.links.begin(), link);
  } else {
    up.retired.push_back(conn);
    node.links.push_back(link);
  }
  return up;
}

ConnId NodeTable::retired(const NodeId& id, ConnId conn, TimePoint now) {
  auto& links = use(id, now).links;
  links.erase(std::remove_if(links.begin(), links.end(),
                             [&](const Link& link) { return link.conn == conn; }),
              links.end());
  return links.empty() ? 0 : links.front().conn;
}

NodeTable::Lost NodeTable::lost(const NodeId& id, ConnId conn, TimePoint now) {
  auto it = nodes_.find(id);
  if (it == nodes_.end()) return {};
  auto& links = it->second.links;
  auto at =
      std::find_if(links.begin(), links.end(), [&](const Link& link) { return link.conn == conn; });
  if (at == links.end()) return {};
  links.erase(at);
  if (!links.empty()) return {false, links.front().conn};
  it->second.down = true;
  it->second.used = now;
  return {true, 0};
}

const NodeTable::Node* NodeTable::find(const NodeId& id) const {
  auto it = nodes_.find(id);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::vector<NodeId> NodeTable::idle(TimePoint now) const {
  std::vector<NodeId> out;
  for (const auto& [id, node] : nodes_)
    if (node.links.empty() && now - node.used >= kForgetAfter) out.push_back(id);
  return out;
}

}  // namespace swarm::actors::links
