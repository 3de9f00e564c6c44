#include "actors/net/mail.h"

#include <fmt/format.h>

#include <algorithm>

#include "actors/net/links/receive_budget.h"

namespace swarm::actors {

const std::vector<MailKind>& mail_kinds() {
  static const std::vector<MailKind> kinds{
#define SWARM_ROW(Type, Kind, Name, Reply, Class, Head, Who) \
  {proto::KIND_##Kind, #Type, Name, proto::KIND_##Reply, TrafficClass::Class, HeadSize::Head, Who},
      SWARM_MAIL_KINDS(SWARM_ROW)
#undef SWARM_ROW
  };
  return kinds;
}

namespace {

const MailKind* find(proto::MessageKind kind) {
  static const auto by_number = [] {
    std::vector<const MailKind*> rows(proto::MessageKind_ARRAYSIZE, nullptr);
    for (const MailKind& row : mail_kinds()) rows[static_cast<size_t>(row.kind)] = &row;
    return rows;
  }();
  const auto at = static_cast<size_t>(kind);
  return at < by_number.size() ? by_number[at] : nullptr;
}

}  // namespace

void take_over_body(const Mail& mail) {
  if (mail.hold) mail.hold->give_back();
}

Status speaks_for(const Mail& mail, const NodeId& node) {
  if (!mail.from || *mail.from == node) return {};
  return Error{
      ErrorCode::kRefused,
      fmt::format("{} names {} as its sender and came from {}: a node speaks for itself only",
                  kind_name(mail.kind), node.brief(), mail.from->brief())};
}

std::unique_ptr<google::protobuf::Message> new_head(proto::MessageKind kind) {
  switch (kind) {
#define SWARM_NEW(Type, Kind, Name, Reply, Class, Head, Who) \
  case proto::KIND_##Kind:                                   \
    return std::make_unique<proto::Type>();
    SWARM_MAIL_KINDS(SWARM_NEW)
#undef SWARM_NEW
    default:
      return nullptr;
  }
}

proto::MessageKind reply_kind(proto::MessageKind request) {
  const MailKind* row = find(request);
  return row != nullptr ? row->reply : proto::KIND_UNSPECIFIED;
}

TrafficClass traffic_class(proto::MessageKind kind) {
  const MailKind* row = find(kind);
  return row != nullptr ? row->traffic : TrafficClass::kControl;
}

HeadSize head_size(proto::MessageKind kind) {
  const MailKind* row = find(kind);
  return row != nullptr ? row->head : HeadSize::kShort;
}

const char* kind_name(proto::MessageKind kind) {
  const MailKind* row = find(kind);
  return row != nullptr ? row->name : "unknown";
}

}  // namespace swarm::actors
