#include "apps/commands/remote_node.h"

#include "actors/net/links/socket.h"
#include "common/names.h"
#include "swarm/collect.pb.h"

namespace swarm::apps {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience{60};  // one range over a slow link, or the digests of long files

/// The answer to `message` if it is a `Reply`.
template <class Reply, class Message>
Result<actors::Mail> ask(ToolLink& link, const caf::actor& desk, Message message) {
  auto reply = link.ask(desk, actors::make_mail(std::move(message), {}, kPatience));
  if (!reply) return reply.error();
  if (reply->kind != actors::KindOf<Reply>::value)
    return Error{ErrorCode::kInternal, "an answer of another kind"};
  return reply;
}

}  // namespace

Result<RemoteNode> RemoteNode::at(ToolLink& link, const Known& node) {
  auto desk = node.id ? link.resolve(*node.id, node.endpoint, kRecordsName)
                      : link.resolve(node.endpoint, kRecordsName);
  if (!desk) return desk.error();
  return RemoteNode(link, *desk);
}

Result<launch::Holdings> RemoteNode::list(std::vector<Known>& known) {
  const auto reply = ask<proto::ListRecordsReply>(*link_, desk_, proto::ListRecords());
  if (!reply) return reply.error();
  const auto& said = reply->as<proto::ListRecordsReply>();
  launch::Holdings out;
  out.run_id = said.run_id();
  out.node_name = said.node_name();
  out.num_stages = said.num_stages();
  for (const auto& file : said.files())
    out.files.push_back({file.name(), file.bytes(), file.digest()});
  for (const auto& one : said.snapshots()) out.snapshots.push_back({one.stage(), one.step()});
  for (const auto& one : said.nodes()) {
    const auto id = NodeId::from_bytes(one.node_id());
    const auto endpoint = actors::links::told_endpoint(one.endpoint());
    if (id && endpoint && endpoint->port != 0) known.push_back({*id, *endpoint});
  }
  return out;
}

Result<Buffer> RemoteNode::read_file(const std::string& name, uint64_t offset) {
  proto::ReadRecord message;
  message.set_file(name);
  message.set_offset(offset);
  message.set_max_bytes(kMostPart);
  const auto reply = ask<proto::ReadRecordReply>(*link_, desk_, std::move(message));
  if (!reply) return reply.error();
  return reply->body;
}

Result<launch::SnapshotPart> RemoteNode::read_snapshot(const launch::HeldSnapshot& which,
                                                       uint64_t offset) {
  proto::ReadRecord message;
  message.set_stage(which.stage);
  message.set_step(which.step);
  message.set_offset(offset);
  message.set_max_bytes(kMostPart);
  const auto reply = ask<proto::ReadRecordReply>(*link_, desk_, std::move(message));
  if (!reply) return reply.error();
  const auto& said = reply->as<proto::ReadRecordReply>();
  return launch::SnapshotPart{said.total_bytes(), said.digest(), reply->body};
}

Status RemoteNode::tell_collected(bool finished) {
  proto::Collected message;
  message.set_finished(finished);
  const auto reply = ask<proto::Ack>(*link_, desk_, std::move(message));
  return reply ? Status() : Status(reply.error());
}

}  // namespace swarm::apps
