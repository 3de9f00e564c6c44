#include "actors/net/links/links_core.h"

#include <algorithm>

#include "actors/net/errors.h"
#include "actors/net/links/claims.h"
#include "common/names.h"
#include "swarm/wire.pb.h"

namespace swarm::actors::links {
namespace {

template <class Items>
void fail_all(Items items, const Error& why) {
  for (auto& item : items) fail(item.promise, why);
}

/// Whether somebody who is at `remote` may come up: who has not proven the key makes this node look no
/// name up, and is kept out by other links. `host` and `conns` outlive it.
auto judge(LinksHost& host, const Conns& conns, const std::string& remote) {
  return [&host, &conns, remote](const NodeInfo& info, bool proven) -> Status {
    if (proven) return {};
    if (const auto& [at, port] = info.endpoint; port != 0 && !host.is_address(at))
      return Error{ErrorCode::kRefused, "without the run's key a node announces no name: " + at, 0};
    return may_claim(conns, info, remote);
  };
}

auto cuts(const LinkShaper& shaper) {
  return [&shaper](const std::string& peer) { return shaper.cut(peer); };
}

void add_traffic(LinksStats& sum, const LinkStats& link) {
  for (size_t i = 0; i < kTrafficClasses; ++i) {
    sum.bytes_sent[i] += link.bytes_sent[i];
    sum.bytes_received[i] += link.bytes_received[i];
  }
  sum.messages_sent += link.messages_sent;
  sum.messages_received += link.messages_received;
}

}  // namespace

LinksCore::LinksCore(LinksHost& host, LinksOptions options, std::function<void()> on_budget)
    : host_(host),
      options_(std::make_shared<const LinksOptions>(std::move(options))),
      budget_(
          std::make_shared<ReceiveBudget>(options_->receive_budget_bytes, std::move(on_budget))),
      nodes_(options_->node_id),
      waiting_(options_->send_budget_bytes),
      pauses_(options_->min_backoff, options_->max_backoff),
      random_(static_cast<uint32_t>(std::hash<NodeId>()(options_->node_id)) | 1u),
      shaper_(options_->node_name, options_->shape,
              static_cast<uint32_t>(std::hash<NodeId>()(options_->node_id)), options_->join_share),
      upkeep_(*options_, conns_, nodes_, proxies_, waiting_) {}

// ---- mail from local actors ---------------------------------------------------------------------

caf::actor LinksCore::resolve(const ActorId& id, const Endpoint& endpoint) {
  const bool own = id.node == options_->node_id;
  if (const auto* actor = own ? local_.find(id.actor) : nullptr) return *actor;
  if (!own && endpoint.port != 0) nodes_.told(id.node, endpoint, host_.now());
  nodes_.use(id.node, host_.now());
  auto& handle = proxies_[id];
  if (!handle) handle = host_.make_proxy(id);
  return handle;
}

ConnId LinksCore::linked(const Endpoint& endpoint) const {
  for (const auto& [id, conn] : conns_) {
    if (!conn.carries_mail()) continue;
    if (conn.dialled == endpoint || conn.session->peer().endpoint == endpoint) return id;
  }
  return 0;
}

void LinksCore::connect(const Endpoint& endpoint, Connected done) {
  if (endpoint == options_->announce)  // it needs no link to itself
    return done(NodeInfo{options_->node_id, options_->node_name, options_->announce, false});
  if (const ConnId conn = linked(endpoint)) return done(conns_.at(conn).session->peer());
  dial(endpoint).connects.push_back(std::move(done));
}

void LinksCore::subscribe(caf::actor subscriber) {
  for (const auto& entry : nodes_.all())
    if (!entry.second.links.empty()) host_.tell_up(subscriber, entry.second.info);
  local_.subscribe(std::move(subscriber));
}

void LinksCore::cut(const NodeId& id) {
  const auto* node = nodes_.find(id);
  if (node == nullptr) return;
  for (const auto& link : std::vector<NodeTable::Link>(node->links))
    lose(link.conn, {ErrorCode::kLinkLost, "the link was cut on request", 0});
}

void LinksCore::unreached(const NodeId& node) {
  const auto* known = nodes_.find(node);
  const auto* actor = local_.find(kCallBackName);
  if (actor == nullptr || node == options_->node_id || (known != nullptr && !known->links.empty()))
    return;
  host_.tell_unreached(*actor, node);
}

LinksStats LinksCore::stats() {
  LinksStats stats = closed_;
  stats.listening = options_->announce;
  stats.known_nodes = nodes_.all().size();
  const auto now = host_.now();
  for (const auto& entry : conns_) {
    const auto& session = *entry.second.session;
    auto link = session.stats(now);
    add_traffic(stats, link);
    stats.malformed_frames += session.complaints().malformed_mail;
    if (session.state() == Session::State::kUp) stats.links.push_back(std::move(link));
  }
  return stats;
}

// ---- outgoing mail ------------------------------------------------------------------------------

void LinksCore::send(const ActorId& to, const Mail& mail, caf::response_promise promise) {
  if (to.node == options_->node_id) {
    const auto* actor = local_.find(to.actor);
    if (actor == nullptr) return fail(promise, {ErrorCode::kNotFound, "no actor " + to.actor, 0});
    promise.delegate(*actor, mail);
    return;
  }
  const auto now = host_.now();
  const auto& node = nodes_.use(to.node, now);
  if (!node.links.empty())
    return send_on(node.links.front().conn, to.actor, mail, std::move(promise));
  if (node.down || node.endpoint.port == 0)
    return fail(promise, {ErrorCode::kLinkLost, "no link to " + to.brief(), 0});
  if (linked(node.endpoint) != 0) {  // to another id: this node would be linked itself
    nodes_.replaced(to.node);
    return fail(promise,
                {ErrorCode::kLinkLost, "another process answers at " + node.endpoint.text(), 0});
  }
  if (const auto refusal = pauses_.refusal(node.endpoint, now)) return fail(promise, *refusal);
  if (!waiting_.push(to.node, {to.actor, mail, promise, now + mail.budget}))
    return fail(promise, {ErrorCode::kOverloaded, "too much mail waits for a dial", 100});
  // A tool proves its key to the node that it was told of, or to nobody.
  const auto meant = options_->is_tool ? std::optional<NodeId>(to.node) : std::nullopt;
  auto& nodes = dial(node.endpoint, meant).nodes;
  if (std::find(nodes.begin(), nodes.end(), to.node) == nodes.end()) nodes.push_back(to.node);
}

void LinksCore::send_on(ConnId id, const std::string& actor, const Mail& mail,
                        caf::response_promise promise) {
  auto& conn = conns_.at(id);
  if (promise.async()) {
    (void)conn.session->send(actor, mail).ok();  // one way: may be lost, as documented
  } else {
    auto request = conn.session->request(actor, mail, host_.now());
    if (!request) return fail(promise, request.error());
    conn.waiting.emplace(*request, std::move(promise));
  }
  host_.wake_writer(id);
}

// ---- dialling -----------------------------------------------------------------------------------

LinksCore::Dial& LinksCore::dial(const Endpoint& endpoint, std::optional<NodeId> meant) {
  auto& dial = dials_[endpoint.text()];
  if (dial.conn != 0) return dial;
  ConnId id = next_conn_++;
  dial.conn = id;
  Conn conn;
  conn.dialled = endpoint;
  conn.remote = endpoint.text();
  conn.session = std::make_unique<Session>(
      options_, true, budget_, host_.now(), endpoint.text(), &local_.admissions(),
      Wanted{meant, judge(host_, conns_, endpoint.text()), cuts(shaper_)});
  conns_.emplace(id, std::move(conn));
  shaper_.opened(id, host_.now());
  host_.open(id, endpoint);
  host_.wake_writer(id);
  return dial;
}

void LinksCore::dial_failed(const Endpoint& endpoint, const Error& why) {
  auto it = dials_.find(endpoint.text());
  if (it == dials_.end()) return;
  Dial dial = std::move(it->second);
  dials_.erase(it);
  const double uniform = std::uniform_real_distribution<double>(0, 1)(random_);
  const Error for_mail = pauses_.failed(endpoint, why, uniform, host_.now());
  for (auto& done : dial.connects) done(why);
  for (const auto& id : dial.nodes) {
    fail_all(waiting_.take(id), for_mail);
    if (why.code != ErrorCode::kOverloaded) unreached(id);  // else it was reached, and had no room
  }
}

// ---- from the host ------------------------------------------------------------------------------

ConnId LinksCore::accept(const std::string& from) {
  if (!has_place({conns_, nodes_, proven_hosts_}, *options_, from)) return 0;
  ConnId id = next_conn_++;
  Conn conn;
  conn.remote = from;
  conn.session =
      std::make_unique<Session>(options_, false, budget_, host_.now(), from, &local_.admissions(),
                                Wanted{std::nullopt, judge(host_, conns_, from), cuts(shaper_)});
  conns_.emplace(id, std::move(conn));
  shaper_.opened(id, host_.now());
  return id;
}

const Session* LinksCore::session(ConnId id) const {
  auto it = conns_.find(id);
  return it == conns_.end() ? nullptr : it->second.session.get();
}

void LinksCore::answered(ConnId id, uint64_t request, const Result<Mail>& answer) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  auto& session = *it->second.session;
  answer ? session.reply(request, *answer) : session.reply(request, answer.error());
  if (!session.output().empty()) host_.wake_writer(id);
}

void LinksCore::budget_released() {
  std::vector<ConnId> paused;
  for (const auto& entry : conns_)
    if (entry.second.session->paused()) paused.push_back(entry.first);
  for (ConnId id : paused) {
    auto it = conns_.find(id);
    if (it == conns_.end()) continue;
    it->second.session->resume(host_.now());
    settle(id);
  }
  carry_due();
}

void LinksCore::tick() {
  const auto now = host_.now();
  upkeep_.tick(now);
  std::vector<ConnId> due;
  for (const auto& [id, conn] : conns_) {
    const bool ours = !conn.reading && !shaper_.cut(conn.session->peer().name);
    if (ours) conn.session->not_read(now);  // the silence
    if (conn.session->due(now) || !conn.session->output().empty() || upkeep_.may_end(conn, now))
      due.push_back(id);
  }
  for (ConnId id : due) {
    auto it = conns_.find(id);
    if (it == conns_.end()) continue;
    auto& conn = it->second;
    conn.session->tick(now);
    if (upkeep_.may_end(conn, now))
      conn.session->close({ErrorCode::kLinkLost, "the link is used no more", 0}, false);
    settle(id);
  }
  auto traffic = [&](ConnId id) {
    const auto* waits = session(id);
    const bool output = waits != nullptr && !waits->output().empty();
    return output ? waits->output().next_traffic() : TrafficClass::kControl;
  };
  auto& turns = shaper_.turns();
  if (turns.anybody_waits())
    turns.serve(host_.now(), traffic, [&](ConnId id) { host_.wake_writer(id); });
  for (ConnId id : shaper_.inlet().next_turns(now)) settle(id);
  carry_due();
  fail_all(waiting_.take_expired(now), {ErrorCode::kPeerTimeout, "no link in time", 0});
}

void LinksCore::shut_down() {
  Error why{ErrorCode::kShuttingDown, "node " + options_->node_name + " leaves", 0};
  std::vector<ConnId> ids;
  for (const auto& entry : conns_) ids.push_back(entry.first);
  for (ConnId id : ids) {
    auto it = conns_.find(id);
    if (it == conns_.end()) continue;
    it->second.session->close(why, true);
    settle(id);
  }
  fail_all(waiting_.take_all(), why);
  proxies_.clear();
  local_.clear();
}

// ---- what sessions report -----------------------------------------------------------------------

void LinksCore::settle(ConnId id) {
  for (;;) {
    auto it = conns_.find(id);
    if (it == conns_.end()) return;
    auto events = it->second.session->take_events();
    if (events.empty()) break;
    for (auto& event : events) handle(id, std::move(event));
  }
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  auto& conn = it->second;
  if (conn.session->state() == Session::State::kClosed) return end(id);
  shaper_.inlet().hold(id, conn.session->paused());
  if (conn.reading != shaper_.inlet().may_read(id)) {
    conn.reading = !conn.reading;
    host_.set_reading(id, conn.reading);
  }
  if (!conn.session->output().empty()) host_.wake_writer(id);
}

void LinksCore::handle(ConnId id, LinkEvent event) {
  switch (event.type) {
    case LinkEvent::Type::kUp:
      return on_up(id);
    case LinkEvent::Type::kGivenUp:
      if (upkeep_.given_up(id, host_.now()))
        dial(nodes_.find(conns_.at(id).session->peer().id)->endpoint);
      return;
    case LinkEvent::Type::kMail: {
      if (const auto* actor = local_.find(event.actor))
        return host_.deliver(id, event.request_id, *actor, event.mail);
      if (event.request_id == 0) return;
      return answered(
          id, event.request_id,
          Error{ErrorCode::kNotFound,
                "node " + options_->node_name + " has no actor '" + event.actor + "'", 0});
    }
    case LinkEvent::Type::kReply:
    case LinkEvent::Type::kFailed: {
      auto& waiting = conns_.at(id).waiting;
      auto it = waiting.find(event.request_id);
      if (it == waiting.end()) return;
      auto promise = std::move(it->second);
      waiting.erase(it);
      if (event.type == LinkEvent::Type::kFailed) return fail(promise, event.error);
      promise.deliver(std::move(event.mail));
    }
  }
}

void LinksCore::on_up(ConnId id) {
  const auto now = host_.now();
  Conn& conn = conns_.at(id);
  const NodeInfo info = conn.session->peer();
  const Endpoint dialled = conn.dialled;
  conn.proven = conn.session->stats(now).proven;
  if (conn.proven && !info.is_tool) proven_hosts_.add(host_of(conn.remote));
  shaper_.named(id, info.name, now);
  const auto up = nodes_.up(info, dialled, id, now);
  for (ConnId other : up.retired) conns_.at(other).retired_at = now;
  if (up.first)
    for (const auto& subscriber : local_.subscribers()) host_.tell_up(subscriber, info);
  for (auto& item : waiting_.take(info.id)) {
    if (item.deadline <= now) {
      fail(item.promise, {ErrorCode::kPeerTimeout, "the budget passed while dialling", 0});
      continue;
    }
    item.mail.budget = std::chrono::duration_cast<std::chrono::milliseconds>(item.deadline - now);
    send_on(nodes_.find(info.id)->links.front().conn, item.actor, item.mail,
            std::move(item.promise));
  }
  auto it = dials_.find(dialled.text());
  if (dialled.port == 0 || it == dials_.end()) return;
  Dial dial = std::move(it->second);
  dials_.erase(it);
  pauses_.succeeded(dialled);
  for (auto& done : dial.connects) done(info);
  for (const auto& other : dial.nodes) {
    if (other == info.id) continue;
    nodes_.replaced(other);
    fail_all(waiting_.take(other),
             {ErrorCode::kLinkLost, "another process answers at " + dialled.text(), 0});
  }
}

void LinksCore::end(ConnId id) {
  auto it = conns_.find(id);
  Conn conn = std::move(it->second);
  conns_.erase(it);
  shaper_.forget(id);
  auto& session = *conn.session;
  std::vector<char> farewell;
  while (session.next_chunk(farewell)) {
  }
  add_traffic(closed_, session.stats(host_.now()));
  const auto& complaints = session.complaints();
  closed_.malformed_frames += complaints.malformed_mail + (complaints.malformed ? 1 : 0);
  closed_.refused_hellos += complaints.refused ? 1 : 0;
  host_.finish(id, std::move(farewell));
  const Error why = session.reason();
  for (auto& entry : conn.waiting) fail(entry.second, why);
  const auto lost = nodes_.lost(session.peer().id, id, host_.now());
  if (lost.carries != 0) conns_.at(lost.carries).retired_at = TimePoint{};
  if (lost.last)
    for (const auto& subscriber : local_.subscribers())
      host_.tell_down(subscriber, session.peer(), why.detail);
  if (conn.dialled.port == 0) return;
  auto dial = dials_.find(conn.dialled.text());
  if (dial != dials_.end() && dial->second.conn == id) dial_failed(conn.dialled, why);
}

}  // namespace swarm::actors::links
