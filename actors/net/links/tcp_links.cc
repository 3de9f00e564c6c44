/// spawn_tcp_links: one caf::io::broker carries all links of a node on CAF's multiplexer thread.
#include <sys/socket.h>
#include <unistd.h>

#include <caf/io/broker.hpp>
#include <caf/io/middleman.hpp>
#include <set>
#include <unordered_map>

#include "actors/net/links/busy_meters.h"
#include "actors/net/links/byte_stream.h"
#include "actors/net/links/links_actor.h"
#include "actors/net/links/look_ups.h"
#include "actors/net/links/socket.h"

namespace swarm::actors::links {
namespace {

using caf::io::connection_handle;
using caf::io::receive_policy;

using resolved_atom = caf::atom_constant<caf::atom("resolved")>;
using no_dial_atom = caf::atom_constant<caf::atom("nodial")>;
using looked_up_atom = caf::atom_constant<caf::atom("lookedup")>;
using trigger_atom = caf::atom_constant<caf::atom("trigger")>;

constexpr size_t kSmallRead = 16u << 10;
constexpr size_t kLargeRead = 256u << 10;
constexpr std::chrono::seconds kLinger{1};
constexpr size_t kMaxLingering = 64;  // Beyond it those turned away are closed at once.
constexpr std::chrono::milliseconds kTriggerAgain{2};

struct TcpState;
using TcpBroker = caf::stateful_actor<TcpState, caf::io::broker>;

int fd_of(connection_handle handle) { return static_cast<int>(handle.id()); }

class TcpHost : public ActorHost<caf::io::broker> {
 public:
  TcpHost(caf::io::broker* self, StreamFactory streams)
      : ActorHost(self), streams_(std::move(streams)) {}

  bool is_address(const std::string& host) override { return is_numeric(host); }
  void open(ConnId conn, const Endpoint& endpoint) override;
  void wake_writer(ConnId conn) override;
  void set_reading(ConnId conn, bool on) override;
  void finish(ConnId conn, std::vector<char> farewell) override;

  void resolved(ConnId conn, const Endpoint& endpoint);
  void looked_up();
  void connected(connection_handle handle);
  void received(const caf::io::new_data_msg& message);
  void transferred(const caf::io::data_transferred_msg& message);
  void closed(connection_handle handle);
  void trigger_again();
  void tick();
  LinksStats stats();

 private:
  struct Socket {
    ConnId conn = 0;  // 0: the core has forgotten it
    std::unique_ptr<ByteStream> stream;
    uint64_t unsent = 0;    // bytes in CAF's buffers
    size_t read_bytes = 0;  // at a time
    TimePoint linger_until{};
    bool half_closed = false;
  };

  void add(ConnId conn, connection_handle handle, StreamRole role);
  void look_up(ConnId conn, const Endpoint& endpoint);
  void look_up_next();
  void fail_later(ConnId conn, const std::string& why);
  void pump(connection_handle handle, Socket& socket);
  size_t read_bytes(size_t at_most) const { return core_->shaper().inlet().read_bytes(at_most); }
  void read_on(connection_handle handle);
  void turn_away(connection_handle handle);
  void write_last(connection_handle handle, Socket& socket, std::vector<char> bytes);
  void half_close(connection_handle handle, Socket& socket);
  void hard_close(connection_handle handle);

  const StreamFactory streams_;
  std::unordered_map<ConnId, connection_handle> handles_;
  std::unordered_map<connection_handle, Socket> sockets_;
  std::set<connection_handle> triggered_;         // to be triggered again
  std::set<connection_handle> triggered_before_;  // were, and will be at the next tick
  std::set<connection_handle> lingering_;         // without a conn: to be closed at linger_until
  BusyMeters meters_;
  LookUps look_ups_;
};

struct TcpState {
  std::unique_ptr<TcpHost> host;
  std::unique_ptr<LinksCore> core;
  static constexpr const char* name = "links";
};

void TcpHost::fail_later(ConnId conn, const std::string& why) {
  self_->send(self_, no_dial_atom::value, conn, why);
}

void TcpHost::open(ConnId conn, const Endpoint& endpoint) {
  if (is_numeric(endpoint.host)) return resolved(conn, endpoint);
  look_ups_.add(conn, endpoint);
  look_up_next();
}

void TcpHost::look_up_next() {
  while (const auto wish = look_ups_.next())  // some are given up while they wait
    core_->session(wish->first) != nullptr ? look_up(wish->first, wish->second) : look_ups_.ended();
}

void TcpHost::looked_up() {
  look_ups_.ended();
  look_up_next();
}

void TcpHost::look_up(ConnId conn, const Endpoint& endpoint) {
  auto links = caf::actor_cast<caf::actor>(self_);
  // Name look-ups block for seconds when a name server is down: never on the event loop.
  self_->system().spawn<caf::detached>(
      [links, conn, endpoint, limit = core_->options().dial_timeout](caf::event_based_actor* self) {
        const auto addresses = resolve_name(endpoint.host);
        self->send(links, looked_up_atom::value);
        if (!addresses) {
          self->send(links, no_dial_atom::value, conn, addresses.error().detail);
          return;
        }
        const auto patience = limit / (2 * static_cast<int>(addresses->size()));
        self->send(
            links, resolved_atom::value, conn,
            Endpoint{first_that_answers(*addresses, endpoint.port, patience), endpoint.port});
      });
}

void TcpHost::resolved(ConnId conn, const Endpoint& endpoint) {
  if (core_->session(conn) == nullptr) return;  // given up while the name was looked up
  auto fd = start_connect(endpoint);
  if (!fd) return fail_later(conn, fd.error().detail);
  // The connection may still be under way: the multiplexer reports it writable or failed, and the
  // session's hello deadline covers the whole attempt.
  add(conn, self_->add_scribe(*fd), StreamRole::kClient);
}

void TcpHost::add(ConnId conn, connection_handle handle, StreamRole role) {
  Socket socket;
  socket.conn = conn;
  socket.stream = streams_(core_->options(), role);
  handles_[conn] = handle;
  auto& placed = sockets_[handle] = std::move(socket);
  self_->ack_writes(handle, true);
  self_->configure_read(handle, receive_policy::at_most(read_bytes(kSmallRead)));
  pump(handle, placed);
}

void TcpHost::connected(connection_handle handle) {
  tune_socket(fd_of(handle));
  ConnId conn =
      core_->accept(Endpoint{self_->remote_addr(handle), self_->remote_port(handle)}.text());
  conn != 0 ? add(conn, handle, StreamRole::kServer) : turn_away(handle);
}

/// Says why. Where many are turned away at once nobody waits for them to read it.
void TcpHost::turn_away(connection_handle handle) {
  auto& socket = sockets_[handle] = Socket{};
  lingering_.insert(handle);
  self_->configure_read(handle, receive_policy::at_most(read_bytes(kSmallRead)));
  socket.stream = streams_(core_->options(), StreamRole::kServer);
  socket.linger_until = now() + kLinger;
  write_last(handle, socket, no_room());
  if (lingering_.size() > kMaxLingering) hard_close(handle);
}

void TcpHost::wake_writer(ConnId conn) {
  auto it = handles_.find(conn);
  if (it == handles_.end()) return;  // name not resolved yet
  pump(it->second, sockets_.at(it->second));
}

/// Keeps at most about two chunks in CAF's buffers: enough for a busy socket, little for urgent
/// frames to wait for.
void TcpHost::pump(connection_handle handle, Socket& socket) {
  uint64_t before = socket.unsent;
  auto& out = self_->wr_buf(handle);
  const size_t chunk =
      core_->shaper().turns().chunk_bytes(socket.conn, core_->options().max_chunk_bytes);
  while (socket.conn != 0 && socket.unsent <= chunk) {
    const size_t begin = out.size();
    if (!core_->next_chunk(socket.conn, out)) break;
    socket.stream->seal(out, begin);
    socket.unsent += out.size() - begin;
  }
  if (socket.unsent != before) self_->flush(handle);
  meters_.sending(socket.conn, core_->session(socket.conn), socket.unsent, now());
}

LinksStats TcpHost::stats() {
  LinksStats stats = core_->stats();
  meters_.tell(stats, now());
  return stats;
}

void TcpHost::transferred(const caf::io::data_transferred_msg& message) {
  auto it = sockets_.find(message.handle);
  if (it == sockets_.end()) return;
  if (it->second.unsent > message.remaining)
    meters_.left(it->second.conn, it->second.unsent - message.remaining, now());
  it->second.unsent = message.remaining;
  if (it->second.conn != 0) return pump(it->first, it->second);
  if (message.remaining == 0) half_close(it->first, it->second);
}

void TcpHost::received(const caf::io::new_data_msg& message) {
  auto it = sockets_.find(message.handle);
  if (it == sockets_.end() || it->second.conn == 0) return;
  ConnId conn = it->second.conn;
  auto& out = self_->wr_buf(message.handle);
  const size_t begin = out.size();
  const auto plain = it->second.stream->open({message.buf.data(), message.buf.size()}, out);
  if (out.size() > begin) {  // the stream's own words: nobody else would send them
    it->second.unsent += out.size() - begin;
    self_->flush(message.handle);
  }
  if (!plain) return core_->closed(conn, plain.error());
  if (!plain->empty()) core_->received(conn, plain->data(), plain->size());
  meters_.received(conn, core_->session(conn), message.buf.size(), now());
  it = sockets_.find(message.handle);
  if (it == sockets_.end() || it->second.conn == 0) return;
  const size_t read =
      read_bytes(core_->session(conn)->input().expects_body() ? kLargeRead : kSmallRead);
  if (read == it->second.read_bytes) return;
  it->second.read_bytes = read;
  self_->configure_read(message.handle, receive_policy::at_most(read));
}

void TcpHost::set_reading(ConnId conn, bool on) {
  auto it = handles_.find(conn);
  if (it == handles_.end()) return;
  if (on) return read_on(it->second);
  triggered_.erase(it->second);
  triggered_before_.erase(it->second);
  self_->halt(it->second);
}

/// CAF forgets a trigger() that comes before the event loop has carried out a halt() of the same
/// round: stream::activate still sees its reader, then the pending removal takes it. Nothing tells
/// us, so it is triggered again soon, and once more at the next tick(), in a later round for sure;
/// where reading goes on that does nothing.
void TcpHost::read_on(connection_handle handle) {
  if (triggered_.empty()) self_->delayed_send(self_, kTriggerAgain, trigger_atom::value);
  triggered_.insert(handle);
  self_->trigger(handle);
}

void TcpHost::trigger_again() {
  for (auto handle : triggered_) self_->trigger(handle);
  triggered_before_.insert(triggered_.begin(), triggered_.end());
  triggered_.clear();
}

void TcpHost::finish(ConnId conn, std::vector<char> farewell) {
  auto it = handles_.find(conn);
  if (it == handles_.end()) return;
  auto handle = it->second;
  handles_.erase(it);
  auto& socket = sockets_.at(handle);
  meters_.forget(conn, now());
  socket.conn = 0;
  read_on(handle);  // to see the other side's end
  lingering_.insert(handle);
  if (farewell.empty()) return hard_close(handle);
  socket.linger_until = now() + kLinger;
  write_last(handle, socket, std::move(farewell));
}

void TcpHost::write_last(connection_handle handle, Socket& socket, std::vector<char> bytes) {
  socket.stream->seal(bytes, 0);
  if (socket.unsent > 0) {
    auto& out = self_->wr_buf(handle);
    out.insert(out.end(), bytes.begin(), bytes.end());
    socket.unsent += bytes.size();
    return self_->flush(handle);
  }
  // Straight into the socket: this actor may be about to end.
  (void)!::send(fd_of(handle), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  half_close(handle, socket);
}

/// Ends our direction only: closing with unread bytes would destroy the farewell on its way.
void TcpHost::half_close(connection_handle handle, Socket& socket) {
  if (socket.half_closed) return;
  socket.half_closed = true;
  ::shutdown(fd_of(handle), SHUT_WR);
}

/// CAF's own close() waits for the peer; this one does not. The event loop sees the end and reports
/// connection_closed_msg.
void TcpHost::hard_close(connection_handle handle) { ::shutdown(fd_of(handle), SHUT_RDWR); }

void TcpHost::closed(connection_handle handle) {
  auto it = sockets_.find(handle);
  if (it == sockets_.end()) return;
  ConnId conn = it->second.conn;
  sockets_.erase(it);
  handles_.erase(conn);
  triggered_.erase(handle);
  triggered_before_.erase(handle);
  lingering_.erase(handle);
  if (conn != 0) {
    meters_.forget(conn, now());
    core_->closed(conn, {ErrorCode::kLinkLost, "the connection failed or was closed", 0});
  }
}

void TcpHost::tick() {
  core_->tick();
  for (auto handle : triggered_before_) self_->trigger(handle);
  triggered_before_.clear();
  auto time = now();
  for (auto handle : lingering_) {
    if (sockets_.at(handle).linger_until < time) hard_close(handle);
  }
}

caf::behavior tcp_links(TcpBroker* self, LinksOptions options, int listen_fd,
                        StreamFactory streams) {
  auto& state = self->state;
  state.host = std::make_unique<TcpHost>(self, std::move(streams));
  state.core =
      std::make_unique<LinksCore>(*state.host, std::move(options), budget_waker(self->address()));
  auto* host = state.host.get();
  host->attach(state.core.get());
  if (listen_fd >= 0) self->add_doorman(listen_fd);
  caf::message_handler io{
      [host](const caf::io::new_data_msg& message) { host->received(message); },
      [host](const caf::io::data_transferred_msg& message) { host->transferred(message); },
      [host](const caf::io::new_connection_msg& message) { host->connected(message.handle); },
      [host](const caf::io::connection_closed_msg& message) { host->closed(message.handle); },
      [](const caf::io::connection_passivated_msg&) {},
      [](const caf::io::acceptor_closed_msg&) {},
      [host](resolved_atom, ConnId conn, const Endpoint& at) { host->resolved(conn, at); },
      [host](no_dial_atom, ConnId conn, const std::string& why) {
        host->core().closed(conn, {ErrorCode::kLinkLost, why, 0});
      },
      [host](looked_up_atom) { host->looked_up(); },
      [host](trigger_atom) { host->trigger_again(); },
      [host](due_atom) { host->called(); },
      [host](stats_atom) { return host->stats(); },
      [self, host](tick_atom) {
        host->tick();
        self->delayed_send(self, host->core().shaper().tick_every(), tick_atom::value);
      },
  };
  return io.or_else(links_handlers(self, state.core.get()));
}

Status check_listen(const LinksOptions& options, const std::string& host) {
  if (auto may = options.may_listen({host, options.listen.port}); !may) return may;
  if (is_wildcard(host) && options.announce.host.empty()) {
    return Error{
        ErrorCode::kInvalidArgument,
        "listening on " + host + " needs `announce`: the address others reach this node at", 0};
  }
  return {};
}

}  // namespace
}  // namespace swarm::actors::links

namespace swarm::actors {

Result<ListeningLinks> spawn_tcp_links(caf::actor_system& system, const LinksOptions& options,
                                       links::StreamFactory streams) {
  using namespace links;  // NOLINT: own sub-namespace
  auto own = options;
  int fd = -1;
  Endpoint bound;
  if (!own.listen.host.empty()) {
    Endpoint at = own.listen;
    if (!is_numeric(at.host)) {
      auto addresses = resolve_name(at.host);
      if (!addresses) return addresses.error();
      at.host = addresses->front();
    }
    auto status = check_listen(own, at.host);
    if (!status) return status.error();
    auto listening = listen_on(at, bound);
    if (!listening) return listening.error();
    fd = *listening;
    if (own.announce.host.empty()) own.announce.host = bound.host;
    if (own.announce.port == 0) own.announce.port = bound.port;
  } else {
    own.announce = {};
  }
  auto actor = system.middleman().spawn_broker(tcp_links, own, fd, std::move(streams));
  return ListeningLinks{actor, bound};
}

}  // namespace swarm::actors
