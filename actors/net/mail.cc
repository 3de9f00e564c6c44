#include "actors/net/mail.h"

namespace swarm::actors {

std::unique_ptr<google::protobuf::Message> new_head(proto::MessageKind kind) {
  switch (kind) {
#define SWARM_NEW(Type, Kind, Name) \
  case proto::Kind:                 \
    return std::make_unique<proto::Type>();
    SWARM_MAIL_KINDS(SWARM_NEW)
#undef SWARM_NEW
    default:
      return nullptr;
  }
}

proto::MessageKind reply_kind(proto::MessageKind request) {
  switch (request) {
    case proto::KIND_SLOT_DONE:
    case proto::KIND_RESTORE:
    case proto::KIND_SAVE_CHECKPOINT:
    case proto::KIND_STOP_NODE:
      return proto::KIND_ACK;
    case proto::KIND_ECHO:
      return proto::KIND_ECHO;
    default:  // in wire.proto a reply follows its request
      return static_cast<proto::MessageKind>(request + 1);
  }
}

const char* kind_name(proto::MessageKind kind) {
  switch (kind) {
#define SWARM_NAME(Type, Kind, Name) \
  case proto::Kind:                  \
    return Name;
    SWARM_MAIL_KINDS(SWARM_NAME)
#undef SWARM_NAME
    default:
      return "unknown";
  }
}

}  // namespace swarm::actors
