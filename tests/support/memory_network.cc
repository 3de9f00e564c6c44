#include "tests/support/memory_network.h"

#include <algorithm>
#include <caf/send.hpp>
#include <deque>

#include "actors/net/links/links_actor.h"

namespace swarm::actors {
namespace {

using accept_atom = caf::atom_constant<caf::atom("memaccept")>;
using bytes_atom = caf::atom_constant<caf::atom("membytes")>;
using end_atom = caf::atom_constant<caf::atom("memend")>;
using read_atom = caf::atom_constant<caf::atom("memread")>;
using window_atom = caf::atom_constant<caf::atom("memwindow")>;
using kill_atom = caf::atom_constant<caf::atom("memkill")>;

using EndId = MemoryNetwork::EndId;

constexpr size_t kRead = 256 << 10;  // as sockets are read

}  // namespace

void MemoryNetwork::set_delay(Millis delay) {
  std::lock_guard<std::mutex> lock(mutex_);
  delay_ = delay;
}

void MemoryNetwork::set_delay(const NodeId& a, const NodeId& b, Millis delay) {
  std::lock_guard<std::mutex> lock(mutex_);
  delays_[pair(a, b)] = delay;
}

void MemoryNetwork::set_window(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  window_ = bytes;
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
  wire.sides[0] = {from, links};
  wire.sides[1] = {it->second.first, it->second.second};
  post(wire, 0, accept_atom::value, EndId(id * 2 + 1));
  return id * 2;
}

void MemoryNetwork::set_address(const NodeId& node, const std::string& address) {
  std::lock_guard<std::mutex> lock(mutex_);
  addresses_[node] = address;
}

std::string MemoryNetwork::address_of_dialler(EndId end) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto wire = wires_.find(end / 2);
  if (wire == wires_.end()) return {};
  auto it = addresses_.find(wire->second.sides[0].node);
  return it == addresses_.end() ? std::string() : it->second;
}

void MemoryNetwork::send(EndId end, std::string bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = wires_.find(end / 2);
  if (it == wires_.end()) return;
  Wire& wire = it->second;
  if (dropped_.count(pair(wire.sides[0].node, wire.sides[1].node)) > 0) return;
  wire.sides[end % 2].under_way += bytes.size();
  post(wire, static_cast<int>(end % 2), bytes_atom::value, other(end), bytes);
}

bool MemoryNetwork::may_send(EndId end) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = wires_.find(end / 2);
  return it == wires_.end() || window_ == 0 || it->second.sides[end % 2].under_way < window_;
}

void MemoryNetwork::taken(EndId end, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = wires_.find(end / 2);
  if (it == wires_.end()) return;
  auto& sender = it->second.sides[other(end) % 2];
  const bool was_full = sender.under_way >= window_;
  sender.under_way -= std::min(bytes, sender.under_way);
  if (window_ > 0 && was_full && sender.under_way < window_)
    caf::anon_send(sender.links, window_atom::value, other(end));
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

  bool is_address(const std::string&) override { return true; }  // nothing is looked up

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
    while (network_.may_send(it->second)) {
      chunk_.clear();
      if (!core_->next_chunk(conn, chunk_)) return;
      network_.send(it->second, std::string(chunk_.begin(), chunk_.end()));
    }
  }

  void set_reading(ConnId conn, bool on) override {
    if (!on) {
      stopped_.insert(conn);
    } else if (stopped_.erase(conn) > 0) {
      self_->send(self_, read_atom::value, conn);
    }
  }

  void finish(ConnId conn, std::vector<char> farewell) override {
    auto it = ends_.find(conn);
    if (it == ends_.end()) return;
    EndId end = it->second;
    forget(end);
    if (!farewell.empty()) network_.send(end, std::string(farewell.begin(), farewell.end()));
    network_.close(end);
  }

  void accepted(EndId end) {
    ConnId conn = core_->accept(network_.address_of_dialler(end));
    if (conn == 0) return network_.close(end);
    place(conn, end);
  }

  void received(EndId end, const std::string& bytes) {
    auto it = conns_.find(end);
    if (it == conns_.end()) return;
    const ConnId conn = it->second;
    unread_[conn].push_back(bytes);
    read(conn);
  }

  void read(ConnId conn) {
    for (;;) {
      auto it = unread_.find(conn);
      if (it == unread_.end() || it->second.empty() || stopped_.count(conn) > 0) return;
      auto& first = it->second.front();
      const size_t size = std::min(first.size(), core_->shaper().inlet().read_bytes(kRead));
      const std::string bytes = first.substr(0, size);
      first.erase(0, size);
      if (first.empty()) it->second.pop_front();
      network_.taken(ends_.at(conn), bytes.size());
      core_->received(conn, bytes.data(), bytes.size());
    }
  }

  void may_send(EndId end) {
    auto it = conns_.find(end);
    if (it != conns_.end()) wake_writer(it->second);
  }

  void closed(EndId end) {
    auto it = conns_.find(end);
    if (it == conns_.end()) return;
    ConnId conn = it->second;
    forget(end);
    core_->closed(conn, {ErrorCode::kLinkLost, "the connection was closed", 0});
  }

 private:
  void place(ConnId conn, EndId end) {
    ends_[conn] = end;
    conns_[end] = conn;
  }
  void forget(EndId end) {
    const ConnId conn = conns_.at(end);
    conns_.erase(end);
    ends_.erase(conn);
    unread_.erase(conn);
    stopped_.erase(conn);
  }

  MemoryNetwork& network_;
  NodeId core_id_;
  std::map<ConnId, EndId> ends_;
  std::map<EndId, ConnId> conns_;
  std::map<ConnId, std::deque<std::string>> unread_;
  std::set<ConnId> stopped_;  // not to be read now
  std::vector<char> chunk_;   // reused
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
      [host](read_atom, ConnId conn) { host->read(conn); },
      [host](window_atom, EndId end) { host->may_send(end); },
      [host](due_atom) { host->called(); },
      [host](end_atom, EndId, ConnId conn, const std::string& why) {
        host->core().closed(conn, {ErrorCode::kLinkLost, why, 0});
      },
      [self](kill_atom) { self->quit(caf::exit_reason::kill); },
      [self, host](tick_atom) {
        host->core().tick();
        self->delayed_send(self, host->core().shaper().tick_every(), tick_atom::value);
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
