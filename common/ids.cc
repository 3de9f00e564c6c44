#include "common/ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>
#include <string_view>

#include "common/printable.h"

namespace swarm {

std::string NodeId::hex() const {
  static const char* const kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (uint8_t b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

NodeId NodeId::random() {
  std::random_device entropy;
  NodeId id;
  for (size_t i = 0; i < id.bytes.size(); i += 4) {
    uint32_t word = entropy();
    std::memcpy(&id.bytes[i], &word, 4);
  }
  return id;
}

Result<NodeId> NodeId::from_hex(const std::string& text) {
  NodeId id;
  if (text.size() != 32) return Error{ErrorCode::kInvalidArgument, "a node id has 32 hex digits"};
  for (size_t i = 0; i < 16; ++i) {
    const char* first = text.data() + 2 * i;
    auto [end, status] = std::from_chars(first, first + 2, id.bytes[i], 16);
    if (status != std::errc() || end != first + 2)
      return Error{ErrorCode::kInvalidArgument, "a node id has 32 hex digits, not '" + text + "'"};
  }
  return id;
}

Result<NodeId> NodeId::from_bytes(const std::string& raw) {
  NodeId id;
  if (raw.size() != id.bytes.size())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a node id has 16 bytes, not {}", raw.size())};
  std::memcpy(id.bytes.data(), raw.data(), raw.size());
  return id;
}

std::string Endpoint::text() const {
  bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

namespace {

constexpr size_t kMaxHostBytes = 253;  // of a DNS name

/// Fit for a log and a terminal, whoever says it.
bool is_host(const std::string& text) {
  return text.size() <= kMaxHostBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  std::string_view(".:-_%").find(c) != std::string_view::npos;
         });
}

}  // namespace

Result<Endpoint> Endpoint::parse(const std::string& text) {
  auto bad = [&](const char* why) {
    return Error{ErrorCode::kInvalidArgument,
                 "'" + printable(text, kMaxHostBytes) + "' is not HOST:PORT: " + why};
  };
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad("no host or no port");
  Endpoint endpoint;
  endpoint.host = text.substr(0, colon);
  if (endpoint.host.front() == '[') {
    if (endpoint.host.back() != ']') return bad("unbalanced brackets");
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  } else if (endpoint.host.find(':') != std::string::npos) {
    return bad("write an IPv6 address in brackets");
  }
  if (endpoint.host.empty()) return bad("no host");
  if (!is_host(endpoint.host)) return bad("a host is 1 to 253 letters, digits and .:-_%");
  const char* first = text.data() + colon + 1;
  const char* last = text.data() + text.size();
  auto [end, status] = std::from_chars(first, last, endpoint.port);
  if (first == last || status != std::errc() || end != last) return bad("the port is 0 to 65535");
  return endpoint;
}

}  // namespace swarm

size_t std::hash<swarm::NodeId>::operator()(const swarm::NodeId& id) const noexcept {
  size_t word = 0;
  std::memcpy(&word, id.bytes.data(), sizeof word);  // random bits already
  return word;
}

size_t std::hash<swarm::ActorId>::operator()(const swarm::ActorId& id) const noexcept {
  return std::hash<swarm::NodeId>()(id.node) * 31 + std::hash<std::string>()(id.actor);
}
