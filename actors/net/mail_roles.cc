#include "actors/net/mail_roles.h"

#include "actors/net/mail.h"

namespace swarm::actors::links {
namespace {

/// Of one side: "a tool", "a node that serves stages and trains".
std::string words_of(uint32_t roles) {
  if ((roles & kTool) != 0) return "a tool";
  std::string does;
  const auto add = [&](uint32_t role, const char* what) {
    if ((roles & role) != 0) does += (does.empty() ? " that " : " and ") + std::string(what);
  };
  add(kPeer, "serves stages");
  add(kTrainer, "trains");
  add(kCoordinator, "coordinates");
  return "a node" + (does.empty() ? " without a role" : does);
}

}  // namespace

uint32_t senders_of(uint32_t kind) {
  switch (kind) {
#define SWARM_SENDERS(Kind, Roles) \
  case proto::KIND_##Kind:         \
    return Roles;
    SWARM_MAIL_ROLES(SWARM_SENDERS)
#undef SWARM_SENDERS
    default:
      return 0;
  }
}

std::string no_right(uint32_t kind, uint32_t roles, bool has_key) {
  const uint32_t senders = senders_of(kind);
  if ((senders & roles) != 0) return {};
  const std::string name = kind_name(static_cast<proto::MessageKind>(kind));
  const std::string who = words_of(roles);
  if ((senders & kOperator) == 0) return name + " is not taken from " + who;
  const std::string needs = (roles & kTool) != 0 ? name + " needs the run's key"
                                                 : name + " is not taken from " + who +
                                                       ", which has not proven the run's key";
  return needs + (has_key ? "; give its file with --key"
                          : ", and this node was started without one; start it with --key FILE");
}

}  // namespace swarm::actors::links
