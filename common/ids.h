/// Identities. A NodeId is drawn afresh each time a process starts: whatever a dead process held
/// is lost, so its successor must never be taken for it. People see node *names*, which persist.
#pragma once

#include <endian.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "common/result.h"

namespace swarm {

/// 128 random bits naming one run of one process; also its place in the DHT's key space.
struct NodeId {
  std::array<uint8_t, 16> bytes{};

  /// 32 lower-case hex digits.
  std::string hex() const;
  /// First 8 hex digits, for logs.
  std::string brief() const { return hex().substr(0, 8); }
  bool is_zero() const { return bytes == std::array<uint8_t, 16>{}; }

  /// From the operating system's entropy.
  static NodeId random();
  /// Errors: kInvalidArgument unless 32 hex digits.
  static Result<NodeId> from_hex(const std::string& text);
  /// From exactly 16 raw bytes (as in protobuf). Errors: kInvalidArgument.
  static Result<NodeId> from_bytes(const std::string& raw);
  std::string raw() const { return {bytes.begin(), bytes.end()}; }

  friend bool operator==(const NodeId& a, const NodeId& b) {
    return a.half(0) == b.half(0) && a.half(8) == b.half(8);
  }
  friend bool operator!=(const NodeId& a, const NodeId& b) { return !(a == b); }
  /// As the bytes, the first one first.
  friend bool operator<(const NodeId& a, const NodeId& b) {
    const uint64_t first = a.half(0), other = b.half(0);
    return first != other ? first < other : a.half(8) < b.half(8);
  }

 private:
  /// Eight bytes from `at` on as a number, big-endian: maps by id look them up all the time.
  uint64_t half(size_t at) const {
    uint64_t half = 0;
    std::memcpy(&half, bytes.data() + at, sizeof half);
    return be64toh(half);
  }
};

/// One named actor of one node, e.g. {id, "stage.0"}: what mail is addressed to.
struct ActorId {
  NodeId node;
  std::string actor;

  /// "1a2b3c4d/stage.0".
  std::string brief() const { return node.brief() + "/" + actor; }

  friend bool operator==(const ActorId& a, const ActorId& b) {
    return a.node == b.node && a.actor == b.actor;
  }
  friend bool operator!=(const ActorId& a, const ActorId& b) { return !(a == b); }
  friend bool operator<(const ActorId& a, const ActorId& b) {
    return a.node == b.node ? a.actor < b.actor : a.node < b.node;
  }
};

/// A peer is a stage server as others see it.
using PeerId = ActorId;

/// Where a node listens; with `port` 0 it does not listen.
struct Endpoint {
  std::string host;  ///< Numeric IPv4/IPv6 address or a name.
  uint16_t port = 0;

  std::string text() const;  ///< "host:port", IPv6 in brackets.
  /// Parses "host:port" or "[v6]:port". Errors: kInvalidArgument.
  static Result<Endpoint> parse(const std::string& text);
  friend bool operator==(const Endpoint& a, const Endpoint& b) {
    return a.host == b.host && a.port == b.port;
  }
  friend bool operator!=(const Endpoint& a, const Endpoint& b) { return !(a == b); }
};

}  // namespace swarm

template <>
struct std::hash<swarm::NodeId> {
  size_t operator()(const swarm::NodeId& id) const noexcept;
};
template <>
struct std::hash<swarm::ActorId> {
  size_t operator()(const swarm::ActorId& id) const noexcept;
};
