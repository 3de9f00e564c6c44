#include "actors/net/links/links_core.h"

#include <algorithm>

#include "actors/net/errors.h"
#include "common/backoff.h"

namespace swarm::actors::links {
namespace {

constexpr size_t kMaxQueuedMail = 10'000;  // per node, while it is dialled
constexpr size_t kMaxPauses = 4'096;
constexpr std::chrono::seconds kRetiredIdle{2};

}  // namespace

LinksCore::LinksCore(LinksHost& host, LinksOptions options, std::function<void()> on_budget)
    : host_(host),
      options_(std::make_shared<const LinksOptions>(std::move(options))),
      budget_(
          std::make_shared<ReceiveBudget>(options_->receive_budget_bytes, std::move(on_budget))),
      random_(static_cast<uint32_t>(std::hash<NodeId>()(options_->node_id)) | 1u),
      send_limit_(options_->send_bytes_per_s) {}

void LinksCore::fail(caf::response_promise& promise, const Error& error) {
  if (promise.pending() && !promise.async()) promise.deliver(to_caf(error));
}

// ---- mail from local actors ---------------------------------------------------------------------

void LinksCore::forget_actor(const caf::actor_addr& address) {
  for (auto it = local_.begin(); it != local_.end();) {
    it = it->second.address() == address ? local_.erase(it) : std::next(it);
  }
  subscribers_.erase(
      std::remove_if(subscribers_.begin(), subscribers_.end(),
                     [&](const caf::actor& actor) { return actor.address() == address; }),
      subscribers_.end());
}

caf::actor LinksCore::proxy(const ActorId& id) {
  if (id.node == options_->node_id) {
    auto it = local_.find(id.actor);
    if (it != local_.end()) return it->second;
  }
  auto& handle = nodes_[id.node].proxies[id.actor];
  if (!handle) handle = host_.make_proxy(id);
  return handle;
}

caf::actor LinksCore::resolve(const ActorId& id, const Endpoint& endpoint) {
  if (id.node != options_->node_id && endpoint.port != 0) {
    auto& node = nodes_[id.node];
    node.endpoint = endpoint;
    node.down = false;
  }
  return proxy(id);
}

ConnId LinksCore::linked(const Endpoint& endpoint) {
  for (const auto& entry : conns_) {
    const auto& conn = entry.second;
    bool same = conn.dialled == endpoint || (conn.session->state() == Session::State::kUp &&
                                             conn.session->peer().endpoint == endpoint);
    if (same && conn.session->state() == Session::State::kUp) return entry.first;
  }
  return 0;
}

void LinksCore::connect(const Endpoint& endpoint, caf::response_promise promise) {
  if (ConnId conn = linked(endpoint)) return promise.deliver(conns_[conn].session->peer());
  dial(endpoint).connects.push_back(std::move(promise));
}

void LinksCore::resolve(const Endpoint& endpoint, const std::string& actor,
                        caf::response_promise promise) {
  if (ConnId conn = linked(endpoint)) {
    return promise.deliver(proxy({conns_[conn].session->peer().id, actor}));
  }
  dial(endpoint).resolves.emplace_back(actor, std::move(promise));
}

void LinksCore::subscribe(caf::actor subscriber) {
  for (const auto& entry : nodes_) {
    if (!entry.second.conns.empty()) host_.tell_up(subscriber, entry.second.info);
  }
  subscribers_.push_back(std::move(subscriber));
}

void LinksCore::cut(const NodeId& id) {
  auto it = nodes_.find(id);
  if (it == nodes_.end()) return;
  auto conns = it->second.conns;
  for (ConnId conn : conns) {
    auto entry = conns_.find(conn);
    if (entry == conns_.end()) continue;
    entry->second.session->close({ErrorCode::kLinkLost, "the link was cut on request", 0}, false);
    settle(conn);
  }
}

LinksStats LinksCore::stats() {
  LinksStats stats = closed_;
  stats.listening = options_->announce;
  auto now = host_.now();
  for (const auto& entry : conns_) {
    const auto& session = *entry.second.session;
    auto link = session.stats(now);
    for (size_t i = 0; i < kTrafficClasses; ++i) {
      stats.bytes_sent[i] += link.bytes_sent[i];
      stats.bytes_received[i] += link.bytes_received[i];
    }
    stats.malformed_frames += session.malformed_mail();
    if (session.state() == Session::State::kUp) stats.links.push_back(std::move(link));
  }
  return stats;
}

// ---- outgoing mail ------------------------------------------------------------------------------

void LinksCore::send(const ActorId& to, const Mail& mail, caf::response_promise promise) {
  if (to.node == options_->node_id) {
    auto it = local_.find(to.actor);
    if (it == local_.end()) return fail(promise, {ErrorCode::kNotFound, "no actor " + to.actor, 0});
    promise.delegate(it->second, mail);
    return;
  }
  auto& node = nodes_[to.node];
  if (!node.conns.empty()) {
    return send_on(node.conns.front(), to.actor, mail, std::move(promise));
  }
  if (node.down || node.endpoint.port == 0) {
    return fail(promise, {ErrorCode::kLinkLost, "no link to " + to.brief(), 0});
  }
  auto deadline = host_.now() + mail.budget;
  queue_mail(node, to.node, {to.actor, mail, std::move(promise), deadline});
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

void LinksCore::queue_mail(Node& node, const NodeId& id, Waiting waiting) {
  if (linked(node.endpoint) != 0) {  // to another id: this node would be linked itself
    node.down = true;
    return fail(waiting.promise,
                {ErrorCode::kLinkLost, "another process answers at " + node.endpoint.text(), 0});
  }
  auto pause = pauses_.find(node.endpoint.text());
  auto now = host_.now();
  if (pause != pauses_.end() && now < pause->second.until) {
    auto error = pause->second.why;
    error.retry_after_ms = static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(pause->second.until - now).count());
    return fail(waiting.promise, error);
  }
  uint64_t bytes = waiting.mail.body.size();
  if (node.queue.size() >= kMaxQueuedMail ||
      (node.queued_bytes > 0 && node.queued_bytes + bytes > options_->send_budget_bytes)) {
    return fail(waiting.promise, {ErrorCode::kOverloaded, "too much mail waits for a dial", 100});
  }
  node.queued_bytes += bytes;
  node.queue.push_back(std::move(waiting));
  auto& nodes = dial(node.endpoint).nodes;
  if (std::find(nodes.begin(), nodes.end(), id) == nodes.end()) nodes.push_back(id);
}

void LinksCore::flush_queue(Node& node) {
  auto queue = std::move(node.queue);
  node.queue.clear();
  node.queued_bytes = 0;
  auto now = host_.now();
  for (auto& waiting : queue) {
    if (waiting.deadline <= now) {
      fail(waiting.promise, {ErrorCode::kPeerTimeout, "the budget passed while dialling", 0});
      continue;
    }
    waiting.mail.budget =
        std::chrono::duration_cast<std::chrono::milliseconds>(waiting.deadline - now);
    send_on(node.conns.front(), waiting.actor, waiting.mail, std::move(waiting.promise));
  }
}

void LinksCore::fail_queue(Node& node, const Error& why) {
  auto queue = std::move(node.queue);
  node.queue.clear();
  node.queued_bytes = 0;
  for (auto& waiting : queue) fail(waiting.promise, why);
}

// ---- dialling -----------------------------------------------------------------------------------

LinksCore::Dial& LinksCore::dial(const Endpoint& endpoint) {
  auto& dial = dials_[endpoint.text()];
  if (dial.conn != 0) return dial;
  ConnId id = next_conn_++;
  dial.conn = id;
  Conn conn;
  conn.dialled = endpoint;
  conn.session = std::make_unique<Session>(options_, true, budget_, host_.now());
  conns_.emplace(id, std::move(conn));
  host_.open(id, endpoint);
  host_.wake_writer(id);
  return dial;
}

void LinksCore::dial_failed(const Endpoint& endpoint, const Error& why) {
  auto it = dials_.find(endpoint.text());
  if (it == dials_.end()) return;
  Dial dial = std::move(it->second);
  dials_.erase(it);
  if (pauses_.size() >= kMaxPauses) pauses_.clear();
  auto& pause = pauses_[endpoint.text()];
  double uniform = std::uniform_real_distribution<double>(0, 1)(random_);
  ++pause.failures;
  pause.until =
      host_.now() +
      jittered(backoff(pause.failures, options_->min_backoff, options_->max_backoff), uniform);
  pause.why = why;
  if (why.code == ErrorCode::kPeerTimeout) pause.why.code = ErrorCode::kLinkLost;
  for (auto& promise : dial.connects) fail(promise, why);
  for (auto& entry : dial.resolves) fail(entry.second, why);
  for (const auto& id : dial.nodes) fail_queue(nodes_[id], pause.why);
}

// ---- from the host ------------------------------------------------------------------------------

ConnId LinksCore::accept() {
  size_t strangers = 0;
  for (const auto& entry : conns_) {
    strangers += entry.second.session->state() == Session::State::kHello ? 1 : 0;
  }
  if (strangers >= options_->max_pending_hellos || conns_.size() >= options_->max_links) return 0;
  ConnId id = next_conn_++;
  Conn conn;
  conn.session = std::make_unique<Session>(options_, false, budget_, host_.now());
  conns_.emplace(id, std::move(conn));
  return id;
}

void LinksCore::received(ConnId id, const void* data, size_t size) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  it->second.session->receive(data, size, host_.now());
  settle(id);
}

bool LinksCore::next_chunk(ConnId id, std::vector<char>& out) {
  auto it = conns_.find(id);
  if (it == conns_.end() || !it->second.session->has_output()) return false;
  const bool in_turn = id == in_turn_ || (in_turn_ == 0 && held_back_.empty());
  if (!in_turn || !send_limit_.may_send(host_.now())) {
    if (std::find(held_back_.begin(), held_back_.end(), id) == held_back_.end())
      held_back_.push_back(id);
    return false;
  }
  in_turn_ = in_turn_ == 0 ? 0 : kNobody;
  const size_t before = out.size();
  if (!it->second.session->next_chunk(out, max_chunk_bytes())) return false;
  send_limit_.sent(out.size() - before);
  return true;
}

uint32_t LinksCore::max_chunk_bytes() const {
  return static_cast<uint32_t>(send_limit_.chunk_bytes(options_->max_chunk_bytes));
}

/// One chunk for whoever has the most urgent one and has waited longest; then to the end of the
/// line, until the limit is reached or all have left it.
void LinksCore::wake_held_back() {
  auto traffic = [&](ConnId id) {
    auto it = conns_.find(id);
    bool output = it != conns_.end() && it->second.session->has_output();
    return output ? it->second.session->next_traffic() : TrafficClass::kControl;
  };
  while (!held_back_.empty() && send_limit_.may_send(host_.now())) {
    auto first = std::min_element(held_back_.begin(), held_back_.end(),
                                  [&](ConnId a, ConnId b) { return traffic(a) < traffic(b); });
    in_turn_ = *first;
    held_back_.erase(first);
    host_.wake_writer(in_turn_);
    in_turn_ = 0;
  }
}

bool LinksCore::expects_body(ConnId id) const {
  auto it = conns_.find(id);
  return it != conns_.end() && it->second.session->expects_body();
}

void LinksCore::closed(ConnId id, const Error& why) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  it->second.session->close(why, false);
  settle(id);
}

void LinksCore::answered(ConnId id, uint64_t request, const Mail& mail) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  it->second.session->reply(request, mail);
  if (it->second.session->has_output()) host_.wake_writer(id);
}

void LinksCore::answered(ConnId id, uint64_t request, const Error& error) {
  auto it = conns_.find(id);
  if (it == conns_.end()) return;
  it->second.session->reply(request, error);
  if (it->second.session->has_output()) host_.wake_writer(id);
}

void LinksCore::budget_released() {
  std::vector<ConnId> paused;
  for (const auto& entry : conns_) {
    if (entry.second.session->paused()) paused.push_back(entry.first);
  }
  for (ConnId id : paused) {
    auto it = conns_.find(id);
    if (it == conns_.end()) continue;
    it->second.session->resume(host_.now());
    settle(id);
  }
}

void LinksCore::tick() {
  auto now = host_.now();
  auto idle = [&](const Conn& conn) {  // retired, and nothing is under way any more
    return conn.retired_at != TimePoint{} && conn.session->dialled() &&
           conn.session->idle_since(now - kRetiredIdle) && now - conn.retired_at > kRetiredIdle;
  };
  std::vector<ConnId> due;
  for (const auto& [id, conn] : conns_) {
    if (conn.session->due(now) || conn.session->has_output() || idle(conn)) due.push_back(id);
  }
  for (ConnId id : due) {
    auto it = conns_.find(id);
    if (it == conns_.end()) continue;
    auto& conn = it->second;
    conn.session->tick(now);
    if (idle(conn)) {
      conn.session->close({ErrorCode::kLinkLost, "the other link is used", 0}, false);
    }
    settle(id);
  }
  if (!held_back_.empty()) wake_held_back();
  for (auto& entry : nodes_) {
    auto& queue = entry.second.queue;
    while (!queue.empty() && queue.front().deadline <= now) {
      fail(queue.front().promise, {ErrorCode::kPeerTimeout, "no link in time", 0});
      entry.second.queued_bytes -= queue.front().mail.body.size();
      queue.pop_front();
    }
  }
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
  for (auto& entry : nodes_) {
    fail_queue(entry.second, why);
    entry.second.proxies.clear();
  }
  local_.clear();
  subscribers_.clear();
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
  if (conn.reading == conn.session->paused()) {
    conn.reading = !conn.session->paused();
    host_.set_reading(id, conn.reading);
  }
  if (conn.session->has_output()) host_.wake_writer(id);
}

void LinksCore::handle(ConnId id, LinkEvent event) {
  switch (event.type) {
    case LinkEvent::Type::kUp:
      return on_up(id);
    case LinkEvent::Type::kMail:
      return on_mail(id, event);
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

void LinksCore::on_mail(ConnId id, const LinkEvent& event) {
  auto it = local_.find(event.actor);
  if (it != local_.end()) return host_.deliver(id, event.request_id, it->second, event.mail);
  if (event.request_id == 0) return;
  answered(id, event.request_id,
           Error{ErrorCode::kNotFound,
                 "node " + options_->node_name + " has no actor '" + event.actor + "'", 0});
}

/// Puts a new link of `node` in its place: one dialled by the smaller id carries new mail, and of
/// several the newest. The others are retired, not closed: requests may be under way on them.
void LinksCore::place(Node& node, ConnId id) {
  auto now = host_.now();
  auto by_smaller_id = [&](ConnId conn) {
    return conns_.at(conn).session->dialled() == (options_->node_id < node.info.id);
  };
  if (node.conns.empty() || by_smaller_id(id) || !by_smaller_id(node.conns.front())) {
    for (ConnId other : node.conns) conns_.at(other).retired_at = now;
    node.conns.insert(node.conns.begin(), id);
  } else {
    conns_.at(id).retired_at = now;
    node.conns.push_back(id);
  }
}

void LinksCore::on_up(ConnId id) {
  NodeInfo info = conns_.at(id).session->peer();
  Endpoint dialled = conns_.at(id).dialled;
  auto& node = nodes_[info.id];
  bool is_new = node.conns.empty();
  node.info = info;
  node.down = false;
  if (info.endpoint.port != 0) {
    node.endpoint = info.endpoint;
  } else if (dialled.port != 0) {
    node.endpoint = dialled;
  }
  place(node, id);
  if (is_new) {
    for (const auto& subscriber : subscribers_) host_.tell_up(subscriber, info);
  }
  flush_queue(nodes_[info.id]);
  auto it = dials_.find(dialled.text());
  if (dialled.port == 0 || it == dials_.end()) return;
  Dial dial = std::move(it->second);
  dials_.erase(it);
  pauses_.erase(dialled.text());
  for (auto& promise : dial.connects) promise.deliver(info);
  for (auto& entry : dial.resolves) entry.second.deliver(proxy({info.id, entry.first}));
  for (const auto& waiting : dial.nodes) {
    if (waiting == info.id) continue;
    nodes_[waiting].down = true;  // another process lives there now
    fail_queue(nodes_[waiting],
               {ErrorCode::kLinkLost, "another process answers at " + dialled.text(), 0});
  }
}

void LinksCore::count(const Session& session) {
  auto stats = session.stats(host_.now());
  for (size_t i = 0; i < kTrafficClasses; ++i) {
    closed_.bytes_sent[i] += stats.bytes_sent[i];
    closed_.bytes_received[i] += stats.bytes_received[i];
  }
  closed_.malformed_frames += session.malformed_mail() + (session.malformed() ? 1 : 0);
  closed_.refused_hellos += session.refused() ? 1 : 0;
}

void LinksCore::end(ConnId id) {
  auto it = conns_.find(id);
  Conn conn = std::move(it->second);
  conns_.erase(it);
  held_back_.erase(std::remove(held_back_.begin(), held_back_.end(), id), held_back_.end());
  auto& session = *conn.session;
  std::vector<char> farewell;
  while (session.next_chunk(farewell)) {
  }
  count(session);
  host_.finish(id, std::move(farewell));
  Error why = session.reason();
  for (auto& entry : conn.waiting) fail(entry.second, why);
  auto node = nodes_.find(session.peer().id);
  if (node != nodes_.end()) link_lost(node->second, id, why);
  if (conn.dialled.port == 0) return;
  auto dial = dials_.find(conn.dialled.text());
  if (dial != dials_.end() && dial->second.conn == id) dial_failed(conn.dialled, why);
}

void LinksCore::link_lost(Node& node, ConnId id, const Error& why) {
  auto at = std::find(node.conns.begin(), node.conns.end(), id);
  if (at == node.conns.end()) return;
  node.conns.erase(at);
  if (!node.conns.empty()) {
    conns_.at(node.conns.front()).retired_at = TimePoint{};
    return;
  }
  node.down = true;
  node.proxies.clear();
  for (const auto& subscriber : subscribers_) {
    host_.tell_down(subscriber, node.info, why.detail);
  }
}

}  // namespace swarm::actors::links
