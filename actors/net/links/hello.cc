#include <fmt/format.h>

#include "actors/net/links/handshake.h"
#include "actors/net/links/settings.h"
#include "common/names.h"
#include "common/printable.h"

namespace swarm::actors::links {
namespace {

Error refuse(std::string why) { return {ErrorCode::kRefused, std::move(why), 0}; }

/// Both are nodes: whether they take part in the same run. Empty: they do.
std::string mismatch(const proto::Hello& theirs, const LinksOptions& own) {
  const bool same = theirs.config_fingerprint() == own.config_fingerprint;
  const std::string differs = same ? "" : differences(theirs, own);
  if (!differs.empty()) return "start all nodes with the same file: " + differs;  // it may be cut
  if (theirs.run_id() != own.run_id)
    return fmt::format(
        "run '{}' of '{}' met run '{}' of '{}'; nodes of one swarm need the same run "
        "id (run.id, or run.name and settings)",
        printable(theirs.run_id(), 2 * kMaxRunIdBytes), printable(theirs.node_name(), 64),
        own.run_id, own.node_name);
  if (same) return {};
  return fmt::format(
      "model, data or training settings differ ({} at '{}', {} at '{}'); start all "
      "nodes with the same file",
      printable(theirs.config_fingerprint(), 64), printable(theirs.node_name(), 64),
      own.config_fingerprint, own.node_name);
}

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
  hello.set_demands_key(own.demands_key());
  if (!own.is_tool) hello.set_roles(own.roles);
  if (!own.is_tool) add_settings(own.settings, hello);
  return hello;
}

Result<NodeInfo> check_hello(const proto::Hello& theirs, const LinksOptions& own) {
  if (theirs.protocol_version() != kProtocolVersion) {
    return refuse(fmt::format("protocol version {} met {}; run the same release everywhere",
                              theirs.protocol_version(), kProtocolVersion));
  }
  if (theirs.run_id().size() > kMaxRunIdBytes || theirs.node_name().size() > 64 ||
      theirs.config_fingerprint().size() > 256 || theirs.listen().size() > 300 ||
      !settings_fit(theirs)) {
    return refuse("a field of the hello is longer than allowed");
  }
  if (!is_name(theirs.node_name()))
    return refuse(fmt::format("a node's name is 1 to 64 of [A-Za-z0-9_.-], not '{}'",
                              printable(theirs.node_name(), 64)));
  auto id = NodeId::from_bytes(theirs.node_id());
  if (!id || id->is_zero()) return refuse("the hello's node id is not 16 random bytes");
  if (*id == own.node_id) return refuse("the node reached itself; correct `join` or `announce`");
  bool tool = theirs.is_tool() || own.is_tool;
  if (std::string why = tool ? "" : mismatch(theirs, own); !why.empty()) return refuse(why);
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
