#include "apps/commands/tool_link.h"

#include <caf/send.hpp>
#include <optional>

#include "actors/net/errors.h"

namespace swarm::apps {

using std::chrono::milliseconds;

ToolLink::ToolLink() : system_(config_), self_(std::make_unique<caf::scoped_actor>(system_)) {}

ToolLink::~ToolLink() {
  if (links_) caf::anon_send_exit(links_, caf::exit_reason::user_shutdown);
  links_ = nullptr;
}

Status ToolLink::open(const std::string& key, bool insists) {
  actors::LinksOptions options;
  options.node_id = NodeId::random();
  options.node_name = "tool";
  options.is_tool = true;
  options.key = key;
  options.open = !insists;
  options.listen = {};
  options.allow_plaintext = true;  // it dials where the user says
  auto links = actors::spawn_tcp_links(system_, options);
  if (!links) return links.error();
  links_ = links->links;
  return {};
}

Result<caf::actor> ToolLink::resolve(const Endpoint& node, const std::string& actor) {
  std::optional<Result<caf::actor>> out;
  (*self_)
      ->request(links_, milliseconds(10'000), actors::resolve_atom::value, node, actor)
      .receive([&](caf::actor& proxy) { out = proxy; },
               [&](caf::error& error) { out = actors::from_caf(error); });
  return *out;
}

Result<caf::actor> ToolLink::resolve(const NodeId& id, const Endpoint& node,
                                     const std::string& actor) {
  std::optional<Result<caf::actor>> out;
  (*self_)
      ->request(links_, milliseconds(10'000), actors::resolve_atom::value, ActorId{id, actor}, node)
      .receive([&](caf::actor& proxy) { out = proxy; },
               [&](caf::error& error) { out = actors::from_caf(error); });
  return *out;
}

Result<actors::Mail> ToolLink::ask(const caf::actor& to, const actors::Mail& mail) {
  std::optional<Result<actors::Mail>> out;
  (*self_)
      ->request(to, mail.budget + milliseconds(1'000), mail)
      .receive([&](actors::Mail& reply) { out = reply; },
               [&](caf::error& error) { out = actors::from_caf(error); });
  return *out;
}

}  // namespace swarm::apps
