#include "tests/support/memory_network.h"

#include <algorithm>
#include <caf/send.hpp>

#include "actors/net/links/links_actor.h"

namespace swarm::actors {
namespace {

using accept_atom = caf::atom_constant<caf::atom("memaccept")>;
using bytes_atom = caf::atom_constant<caf::atom("membytes")>;
using end_atom = caf::atom_constant<caf::atom("memend")>;
using kill_atom = caf::atom_constant<caf::atom("memkill")>;

using EndId = MemoryNetwork::EndId;

}  // namespace

void MemoryNetwork::set_delay(Millis delay) {
  std::lock_guard<std::mutex> lock(mutex_);
  delay_ = delay;
}

void MemoryNetwork::set_delay(const NodeId& a, const NodeId& b, Millis delay) {
  std::lock_guard<std::mutex> lock(mutex_);
  delays_[pair(a, b)] = delay;
}

/// Requires mutex_. Delivers to the other side, never before what was sent earlier.
template <class... Ts>
void MemoryNetwork::post(Wire& wire, int from, const Ts&... message) {
  auto& to = wire.sides[1 - from].links;
  auto custom = delays_.find(pair(wire.sides[0].node, wire.sides[1].node));
  auto& clock = to.home_system().clock();
  auto now = clock.now();
  auto arrival = now + (custom != delays_.end() ? custom->second : delay_);
  arrival = std::max(arrival, wire.sides[from].last_arrival);
  wire.sides[from].last_arrival = arrival;
  if (arrival <= now) return caf::anon_send(to, message...);
  clock.schedule_message(
      arrival, caf::actor_cast<caf::strong_actor_ptr>(to),
      caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, message...));
}

void MemoryNetwork::close_between(const std::function<bool(const Wire&)>& concerns) {
  for (auto it = wires_.begin(); it != wires_.end();) {
    if (!concerns(it->second)) {
      ++it;
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      caf::anon_send(it->second.sides[side].links, end_atom::value, EndId(it->first * 2 + side));
    }
    it = wires_.erase(it);
  }
}

void MemoryNetwork::cut(const NodeId& a, const NodeId& b) {
  std::lock_guard<std::mutex> lock(mutex_);
  cut_.insert(pair(a, b));
  close_between(
      [&](const Wire& wire) { return pair(wire.sides[0].node, wire.sides[1].node) == pair(a, b); });
}

void MemoryNetwork::drop(const NodeId& a, const NodeId& b) {
  std::lock_guard<std::mutex> lock(mutex_);
  dropped_.insert(pair(a, b));
}

void MemoryNetwork::heal(const NodeId& a, const NodeId& b) {
  std::lock_guard<std::mutex> lock(mutex_);
  cut_.erase(pair(a, b));
  dropped_.erase(pair(a, b));
}

void MemoryNetwork::kill(const NodeId& node) {
  std::lock_guard<std::mutex> lock(mutex_);
  close_between(
      [&](const Wire& wire) { return wire.sides[0].node == node || wire.sides[1].node == node; });
  auto it = nodes_.find(node);
  if (it != nodes_.end()) caf::anon_send(it->second, kill_atom::value);
}

void MemoryNetwork::listen(const Endpoint& endpoint, const NodeId& node, caf::actor links) {
  std::lock_guard<std::mutex> lock(mutex_);
  nodes_[node] = links;
  if (endpoint.port != 0) listening_[endpoint.text()] = {node, std::move(links)};
}

void MemoryNetwork::leave(const NodeId& node) {
  std::lock_guard<std::mutex> lock(mutex_);
  nodes_.erase(node);
  for (auto it = listening_.begin(); it != listening_.end();) {
    it = it->second.first == node ? listening_.erase(it) : std::next(it);
  }
  close_between(
      [&](const Wire& wire) { return wire.sides[0].node == node || wire.sides[1].node == node; });
}

EndId MemoryNetwork::dial(const NodeId& from, const caf::actor& links, const Endpoint& to) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = listening_.find(to.text());
  if (it == listening_.end() || cut_.count(pair(from, it->second.first)) > 0) return 0;
  uint64_t id = next_wire_++;
  Wire& wire = wires_[id];
  wire.sides[0] = {from, links, {}};
  wire.sides[1] = {it->second.first, it->second.second, {}};
  post(wire, 0, accept_atom::value, EndId(id * 2 + 1));
  return id * 2;
}

void MemoryNetwork::send(EndId end, std::string bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = wires_.find(end / 2);
  if (it == wires_.end()) return;
  Wire& wire = it->second;
  if (dropped_.count(pair(wire.sides[0].node, wire.sides[1].node)) > 0) return;
  post(wire, static_cast<int>(end % 2), bytes_atom::value, other(end), bytes);
}

void MemoryNetwork::close(EndId end) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = wires_.find(end / 2);
  if (it == wires_.end()) return;
  Wire& wire = it->second;
  if (dropped_.count(pair(wire.sides[0].node, wire.sides[1].node)) == 0) {
    post(wire, static_cast<int>(end % 2), end_atom::value, other(end));
  }
  wires_.erase(it);
}

namespace links {
namespace {

class MemoryHost : public ActorHost<caf::event_based_actor> {
 public:
  MemoryHost(caf::event_based_actor* self, MemoryNetwork& network)
      : ActorHost(self), network_(network) {}
  ~MemoryHost() override { network_.leave(core_id_); }

  void start() {
    core_id_ = core_->options().node_id;
    network_.listen(core_->options().listen, core_id_, caf::actor_cast<caf::actor>(self_));
  }

  void open(ConnId conn, const Endpoint& endpoint) override {
    EndId end = network_.dial(core_id_, caf::actor_cast<caf::actor>(self_), endpoint);
    if (end == 0) {
      self_->send(self_, end_atom::value, EndId(0), conn, "nothing listens on " + endpoint.text());
      return;
    }
    place(conn, end);
  }

  void wake_writer(ConnId conn) override {
    auto it = ends_.find(conn);
    if (it == ends_.end()) return;
    for (;;) {
      chunk_.clear();
      if (!core_->next_chunk(conn, chunk_)) return;
      network_.send(it->second, std::string(chunk_.begin(), chunk_.end()));
    }
  }

  void set_reading(ConnId, bool) override {}  // the session keeps back what arrives

  void finish(ConnId conn, std::vector<char> farewell) override {
    auto it = ends_.find(conn);
    if (it == ends_.end()) return;
    EndId end = it->second;
    ends_.erase(it);
    conns_.erase(end);
    if (!farewell.empty()) network_.send(end, std::string(farewell.begin(), farewell.end()));
    network_.close(end);
  }

  void accepted(EndId end) {
    ConnId conn = core_->accept();
    if (conn == 0) return network_.close(end);
    place(conn, end);
  }

  void received(EndId end, const std::string& bytes) {
    auto it = conns_.find(end);
    if (it != conns_.end()) core_->received(it->second, bytes.data(), bytes.size());
  }

  void closed(EndId end) {
    auto it = conns_.find(end);
    if (it == conns_.end()) return;
    ConnId conn = it->second;
    conns_.erase(it);
    ends_.erase(conn);
    core_->closed(conn, {ErrorCode::kLinkLost, "the connection was closed", 0});
  }

 private:
  void place(ConnId conn, EndId end) {
    ends_[conn] = end;
    conns_[end] = conn;
  }

  MemoryNetwork& network_;
  NodeId core_id_;
  std::map<ConnId, EndId> ends_;
  std::map<EndId, ConnId> conns_;
  std::vector<char> chunk_;  // reused
};

struct MemoryState {
  std::unique_ptr<MemoryHost> host;
  std::unique_ptr<LinksCore> core;
  static constexpr const char* name = "links";
};

caf::behavior memory_links(caf::stateful_actor<MemoryState>* self, LinksOptions options,
                           MemoryNetwork* network) {
  auto& state = self->state;
  if (options.announce.port == 0) options.announce = options.listen;
  state.host = std::make_unique<MemoryHost>(self, *network);
  state.core =
      std::make_unique<LinksCore>(*state.host, std::move(options), budget_waker(self->address()));
  auto* host = state.host.get();
  host->attach(state.core.get());
  host->start();
  caf::message_handler io{
      [host](accept_atom, EndId end) { host->accepted(end); },
      [host](bytes_atom, EndId end, const std::string& bytes) { host->received(end, bytes); },
      [host](end_atom, EndId end) { host->closed(end); },
      [host](end_atom, EndId, ConnId conn, const std::string& why) {
        host->core().closed(conn, {ErrorCode::kLinkLost, why, 0});
      },
      [self](kill_atom) { self->quit(caf::exit_reason::kill); },
      [self, host](tick_atom) {
        host->core().tick();
        self->delayed_send(self, tick_every(host->core().options()), tick_atom::value);
      },
  };
  return io.or_else(links_handlers(static_cast<caf::event_based_actor*>(self), state.core.get()));
}

}  // namespace
}  // namespace links

caf::actor spawn_memory_links(caf::actor_system& system, const LinksOptions& options,
                              MemoryNetwork& network) {
  return system.spawn(links::memory_links, options, &network);
}

}  // namespace swarm::actors
