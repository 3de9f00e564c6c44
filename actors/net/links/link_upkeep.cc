#include "actors/net/links/link_upkeep.h"

namespace swarm::actors::links {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kRetiredIdle{2};

/// Somebody else holds the handle.
bool has_users(const caf::actor& actor) {
  return caf::actor_cast<caf::actor_control_block*>(actor)->strong_refs.load() > 1;
}

}  // namespace

LinkUpkeep::LinkUpkeep(const LinksOptions& options, Conns& conns, NodeTable& nodes,
                       Proxies& proxies, const WaitingMail& waiting)
    : options_(options), conns_(conns), nodes_(nodes), proxies_(proxies), waiting_(waiting) {}

bool LinkUpkeep::needed(const NodeId& node) const {
  if (!waiting_.empty(node)) return true;
  for (auto it = proxies_.lower_bound({node, {}}); it != proxies_.end() && it->first.node == node;
       ++it)
    if (has_users(it->second)) return true;
  return false;
}

std::optional<TimePoint> LinkUpkeep::unneeded_since(const Conn& conn) const {
  if (!conn.carries_mail() || options_.is_tool) return std::nullopt;
  const NodeInfo& peer = conn.session->peer();
  const auto* node = nodes_.find(peer.id);
  const bool may = !peer.is_tool && node != nullptr && node->endpoint.port != 0 &&
                   node->links.size() == 1 && !needed(peer.id);
  return may ? conn.session->idle_since() : std::nullopt;
}

void LinkUpkeep::tick(TimePoint now) {
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  std::vector<UnneededLink> unneeded;
  size_t links = 0;
  for (const auto& [id, conn] : conns_) {
    const bool asked = conn.given_up_at != TimePoint{};
    const bool lately = asked && now - conn.given_up_at < IdleRules::kAnswer;
    const bool going = asked && now - conn.given_up_at < IdleRules::kQuickAnswer;
    links += conn.carries_mail() && !going ? 1 : 0;
    const auto since = lately ? std::nullopt : unneeded_since(conn);
    if (since) unneeded.push_back({id, *since});
  }
  const IdleRules rules{options_.idle_close_s, options_.max_links};
  for (const ConnId id : to_give_up(std::move(unneeded), links, now, rules)) {
    Conn& conn = conns_.at(id);
    conn.given_up_at = now;
    conn.session->give_up();
  }
  forget_idle_nodes(now);
}

/// Answered also where this side had asked: that may have been long ago, and ignored.
bool LinkUpkeep::given_up(ConnId id, TimePoint now) {
  Conn& conn = conns_.at(id);
  if (conn.retired_at != TimePoint{} || conn.session->state() != Session::State::kUp) return false;
  const bool asked = conn.given_up_at != TimePoint{} && now - conn.given_up_at < IdleRules::kAnswer;
  const auto since = unneeded_since(conn);
  if (!asked && (!since || now - *since < IdleRules::kShortIdle / 2)) return false;
  conn.session->give_up();
  retire(id, conn, now);
  const NodeId& node = conn.session->peer().id;
  return nodes_.find(node)->links.empty() && needed(node);
}

void LinkUpkeep::retire(ConnId id, Conn& conn, TimePoint now) {
  conn.retired_at = now;
  const ConnId carries = nodes_.retired(conn.session->peer().id, id, now);
  if (carries != 0) conns_.at(carries).retired_at = TimePoint{};  // the other one was to go
}

bool LinkUpkeep::may_end(const Conn& conn, TimePoint now) const {
  if (conn.retired_at == TimePoint{} || conn.dialled.port == 0) return false;
  const auto since = conn.session->idle_since();
  return since && now - *since >= kRetiredIdle && now - conn.retired_at > kRetiredIdle;
}

/// A node stays while anybody holds one of its proxies: their holder may still write.
void LinkUpkeep::forget_idle_nodes(TimePoint now) {
  for (const NodeId& id : nodes_.idle(now)) {
    if (needed(id)) {
      nodes_.use(id, now);
      continue;
    }
    auto first = proxies_.lower_bound({id, {}});
    while (first != proxies_.end() && first->first.node == id) first = proxies_.erase(first);
    nodes_.forget(id);
  }
}

}  // namespace swarm::actors::links
