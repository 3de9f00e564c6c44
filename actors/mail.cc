#include "actors/mail.h"

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
