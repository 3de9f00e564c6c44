/// What a stranger says to a node: frames by hand (docs/protocol.md), over plain sockets that may come
/// from any address of the loopback network. For the attacker of the tests; knows no CAF.
#pragma once

#include <google/protobuf/message.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "swarm/wire.pb.h"

namespace swarm::attack {

/// As the nodes' (actors/net/links/frame.h): with another one nothing that is said is looked at.
constexpr uint8_t kProtocolVersion = 3;

struct Target {
  std::string host;
  uint16_t port = 0;
};

/// One frame, cut into chunks of `chunk_bytes`. It may end early: `says_body` bytes are announced, those of
/// `body` follow, and the chunk that they are in goes on.
struct Said {
  uint32_t kind = 0;
  std::string head{}, body{}, actor{};
  uint64_t request_id = 0;
  uint64_t says_body = 0;  ///< 0: as many as there are.
  uint8_t traffic = 0;
};
std::string frame_of(const Said& said, size_t chunk_bytes = 256u << 10);

/// What came back.
struct Heard {
  uint32_t kind = 0;
  uint64_t request_id = 0;
  std::string head;
  uint64_t body_bytes = 0;
};

/// A connection. Every call ends soon, whatever the other side does.
class Line {
 public:
  /// From 127.0.0.`2 + source`. !open(): nobody took it.
  Line(const Target& target, uint32_t source);
  ~Line() { close(); }
  Line(Line&& other) noexcept : fd_(other.fd_), lanes_(other.lanes_), buffer_(other.buffer_) {
    other.fd_ = -1;
  }
  Line& operator=(Line&&) = delete;

  bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// As much as is taken within 0.2 s. False: the other side has ended the connection.
  bool say(const std::string& bytes);
  /// What comes within `patience`, at most; returns once nothing has come for it.
  std::vector<Heard> listen(std::chrono::milliseconds patience);

 private:
  struct Lane {
    std::string front;
    uint64_t want = 0, body_left = 0;
    Heard heard;
  };
  void take_chunk(uint8_t traffic, const char* data, size_t size, std::vector<Heard>& out);

  int fd_ = -1;
  std::array<Lane, 4> lanes_;
  std::string buffer_;
};

}  // namespace swarm::attack
