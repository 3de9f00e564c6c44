#include "tests/attack/wire.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace swarm::attack {
namespace {

constexpr size_t kChunkHeader = 8, kFrameHeader = 40;

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t get(const char* at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

std::string tag_of(uint64_t body_bytes) {
  if (body_bytes == 0) return {};
  std::string tag = "\x7a";
  for (; body_bytes > 0x7f; body_bytes >>= 7) tag += static_cast<char>(body_bytes | 0x80);
  return tag + static_cast<char>(body_bytes);
}

bool ready(int fd, short what, int patience_ms) {
  pollfd poll_fd{fd, what, 0};
  return ::poll(&poll_fd, 1, patience_ms) == 1;
}

}  // namespace

std::string frame_of(const Said& said, size_t chunk_bytes) {
  const uint64_t body = said.says_body != 0 ? said.says_body : said.body.size();
  const std::string tag = tag_of(body);
  std::string frame = "SWRM";
  put(frame, kProtocolVersion, 1);
  put(frame, said.traffic, 1);
  put(frame, said.kind, 2);
  put(frame, said.request_id == 0 ? 0 : 1, 1);
  put(frame, said.actor.size(), 1);
  put(frame, tag.size(), 2);
  put(frame, UINT32_MAX, 4);  // how long it would wait [ms]
  put(frame, said.request_id, 8);
  put(frame, said.head.size(), 4);
  put(frame, 0, 4);
  put(frame, body, 8);
  frame += said.actor + said.head + tag + said.body;
  const uint64_t said_size = frame.size() + body - said.body.size();
  std::string out;
  for (size_t at = 0; at < frame.size(); at += chunk_bytes) {
    const uint64_t size = std::min<uint64_t>(chunk_bytes, said_size - at);
    const bool last = at + size == said_size;
    put(out, 0xC5, 1);
    put(out, (at == 0 ? 1 : 0) | (last ? 2 : 0), 1);
    put(out, said.traffic, 1);
    put(out, 0, 1);
    put(out, size, 4);
    out.append(frame, at, size);
  }
  return out;
}

Line::Line(const Target& target, uint32_t source) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return;
  sockaddr_in from{}, to{};
  from.sin_family = to.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + source);
  to.sin_port = htons(target.port);
  ::inet_pton(AF_INET, target.host.c_str(), &to.sin_addr);
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd_, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */, &on, sizeof on);
  // Where its address cannot be chosen, it comes from the usual one.
  static_cast<void>(::bind(fd_, reinterpret_cast<sockaddr*>(&from), sizeof from));
  const bool now = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  int failed = now || (errno == EINPROGRESS && ready(fd_, POLLOUT, 1'000)) ? 0 : ETIMEDOUT;
  socklen_t size = sizeof failed;
  if (failed == 0) ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &failed, &size);
  if (failed != 0) close();
}

bool Line::say(const std::string& bytes) {
  if (!open()) return false;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent > 0) {
      at += static_cast<size_t>(sent);
    } else if (errno != EAGAIN) {
      close();
      return false;
    } else if (!ready(fd_, POLLOUT, 200)) {
      return true;  // it does not read
    }
  }
  return true;
}

std::vector<Heard> Line::listen(std::chrono::milliseconds patience) {
  std::vector<Heard> out;
  char bytes[64 << 10];
  while (open() && ready(fd_, POLLIN, static_cast<int>(patience.count()))) {
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      close();
      break;
    }
    buffer_.append(bytes, static_cast<size_t>(got));
    size_t at = 0;
    while (buffer_.size() - at >= kChunkHeader) {
      const size_t size = get(buffer_.data() + at + 4, 4);
      if (buffer_.size() - at < kChunkHeader + size) break;
      const auto traffic = static_cast<uint8_t>(buffer_[at + 2] & 3);
      if (buffer_[at + 1] & 1) lanes_[traffic] = Lane();
      take_chunk(traffic, buffer_.data() + at + kChunkHeader, size, out);
      at += kChunkHeader + size;
    }
    buffer_.erase(0, at);
  }
  return out;
}

void Line::take_chunk(uint8_t traffic, const char* data, size_t size, std::vector<Heard>& out) {
  Lane& lane = lanes_[traffic];
  const bool counted = lane.want != 0 && lane.front.size() == lane.want;
  if (!counted) {
    lane.front.append(data, size);
    size = 0;
    if (lane.want == 0 && lane.front.size() >= kFrameHeader) {
      const char* at = lane.front.data();
      lane.heard.kind = static_cast<uint32_t>(get(at + 6, 2));
      lane.heard.request_id = get(at + 16, 8);
      lane.heard.body_bytes = lane.body_left = get(at + 32, 8);
      lane.want = kFrameHeader + get(at + 9, 1) + get(at + 24, 4) + get(at + 10, 2);
    }
    if (lane.want == 0 || lane.front.size() < lane.want) return;
    const char* at = lane.front.data();
    lane.heard.head = lane.front.substr(kFrameHeader + get(at + 9, 1), get(at + 24, 4));
    size = lane.front.size() - lane.want;  // of the body
    lane.front.resize(lane.want);
  }
  lane.body_left -= std::min<uint64_t>(lane.body_left, size);
  if (lane.body_left > 0) return;
  out.push_back(lane.heard);
  lane = Lane();
}

}  // namespace swarm::attack
