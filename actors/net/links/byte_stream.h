/// What lies between frames and socket: nothing yet, encryption where it is wanted. One per
/// connection; pure, no sockets; tests/actors/net/byte_stream_test.cc is the contract of all.
///
/// A stream may talk on its own (a handshake): both calls may produce bytes for the other side, and
/// bytes that are to be sent may wait inside until it is through. It needs no call to begin: the
/// side that dialled always has something to send at once, the hello of its link.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "actors/net/options.h"
#include "common/result.h"

namespace swarm::actors::links {

/// Who begins a handshake, and who shows a certificate: the client dialled, the server accepted.
enum class StreamRole { kClient, kServer };

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// What stands in `out` from `begin` on is to be sent: replaces it by what goes over the wire.
  /// That may be nothing (kept until a handshake is through) or the handshake's own bytes. What
  /// stands before `begin` is not touched.
  virtual void seal(std::vector<char>& out, size_t begin) = 0;

  /// `wire` came in, cut anywhere. Returns what it says, valid until the next open() and as long
  /// as `wire`; appends to `out` what must be sent now: an answer of the handshake, bytes that
  /// waited for it. Errors: kRefused (wrong certificate), kLinkLost (not what a stream says); the
  /// connection is over, `out` may hold a last word.
  virtual Result<std::string_view> open(std::string_view wire, std::vector<char>& out) = 0;
};

/// Makes the stream of a new connection.
using StreamFactory =
    std::function<std::unique_ptr<ByteStream>(const LinksOptions& options, StreamRole role)>;

/// The stream that `options` ask for: plain bytes, for loopback and trusted networks.
std::unique_ptr<ByteStream> make_stream(const LinksOptions& options, StreamRole role);

}  // namespace swarm::actors::links
