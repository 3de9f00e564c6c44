#include <fmt/format.h>

#include "actors/net/links/session.h"

namespace swarm::actors::links {
namespace {

Error refuse(std::string why) { return {ErrorCode::kRefused, std::move(why), 0}; }

}  // namespace

proto::Hello make_hello(const LinksOptions& own) {
  proto::Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_run_id(own.run_id);
  hello.set_node_id(own.node_id.raw());
  hello.set_node_name(own.node_name);
  if (own.announce.port != 0) hello.set_listen(own.announce.text());
  hello.set_config_fingerprint(own.config_fingerprint);
  hello.set_is_tool(own.is_tool);
  return hello;
}

Result<NodeInfo> check_hello(const proto::Hello& theirs, const LinksOptions& own) {
  if (theirs.protocol_version() != kProtocolVersion) {
    return refuse(fmt::format("protocol version {} met {}; run the same release everywhere",
                              theirs.protocol_version(), kProtocolVersion));
  }
  if (theirs.run_id().size() > kMaxRunIdBytes || theirs.node_name().size() > 64 ||
      theirs.config_fingerprint().size() > 256 || theirs.listen().size() > 300) {
    return refuse("a field of the hello is longer than allowed");
  }
  auto id = NodeId::from_bytes(theirs.node_id());
  if (!id || id->is_zero()) return refuse("the hello's node id is not 16 random bytes");
  if (*id == own.node_id) return refuse("the node reached itself; correct `join` or `announce`");
  bool tool = theirs.is_tool() || own.is_tool;
  if (!tool && theirs.run_id() != own.run_id) {
    return refuse("run '" + theirs.run_id() + "' met run '" + own.run_id +
                  "'; nodes of one swarm need the same run id");
  }
  if (!tool && theirs.config_fingerprint() != own.config_fingerprint) {
    return refuse("model, data or training settings differ (" + theirs.config_fingerprint() +
                  " met " + own.config_fingerprint + "); start all nodes with the same file");
  }
  NodeInfo info;
  info.id = *id;
  info.name = theirs.node_name();
  info.is_tool = theirs.is_tool();
  if (!theirs.listen().empty()) {
    auto endpoint = Endpoint::parse(theirs.listen());
    if (!endpoint) return refuse("the hello's listen address is not host:port");
    info.endpoint = *endpoint;
  }
  return info;
}

}  // namespace swarm::actors::links
