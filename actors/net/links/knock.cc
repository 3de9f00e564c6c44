#include "actors/net/links/knock.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "actors/net/links/byte_stream.h"
#include "actors/net/links/session.h"
#include "actors/net/links/socket.h"

namespace swarm::actors::links {
namespace {

constexpr size_t kReadBytes = 4096;
constexpr int kPollMs = 50;

/// A socket with the little of a link that a hello needs.
class Visit {
 public:
  Visit(int fd, const std::shared_ptr<const LinksOptions>& options)
      : fd_(fd),
        stream_(make_stream(*options, StreamRole::kClient)),
        session_(options, true, std::make_shared<ReceiveBudget>(0, [] {}), Clock::now()) {}
  ~Visit() { ::close(fd_); }
  Visit(const Visit&) = delete;

  Result<NodeInfo> run() {
    while (session_.state() == Session::State::kHello) {
      write();
      read();
      session_.tick(Clock::now());
    }
    if (session_.state() != Session::State::kUp) return session_.reason();
    return session_.peer();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// A hello fits into any socket's buffer.
  void write() {
    const size_t begin = out_.size();
    while (session_.next_chunk(out_)) {
    }
    stream_->seal(out_, begin);
    if (out_.empty()) return;
    const auto sent = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) out_.erase(out_.begin(), out_.begin() + sent);
  }

  void read() {
    pollfd readable{fd_, POLLIN, 0};
    if (::poll(&readable, 1, kPollMs) != 1) return;
    char bytes[kReadBytes];
    const auto size = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size <= 0)
      return session_.close({ErrorCode::kLinkLost, "the connection was closed without a hello"},
                            false);
    const auto plain = stream_->open({bytes, static_cast<size_t>(size)}, out_);
    if (!plain) return session_.close(plain.error(), false);
    session_.receive(plain->data(), plain->size(), Clock::now());
  }

  const int fd_;
  std::unique_ptr<ByteStream> stream_;
  Session session_;
  std::vector<char> out_;
};

}  // namespace

Result<NodeInfo> knock(const Endpoint& at, const LinksOptions& options) {
  const auto fd = connect_now(at, options.dial_timeout);
  if (!fd) return fd.error();
  auto own = std::make_shared<LinksOptions>(options);
  own->is_tool = true;
  own->open = !options.demands_key();
  own->node_id = NodeId::random();
  own->announce = {};
  own->on_refused = nullptr;
  return Visit(*fd, own).run();
}

}  // namespace swarm::actors::links
