/// What lies between frames and socket: nothing now, TLS later. One per connection.
#pragma once

#include <memory>
#include <vector>

#include "common/result.h"

namespace swarm::actors::links {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Bytes pass unchanged: the link then skips encrypt() and decrypt() and their copies.
  virtual bool is_plain() const = 0;
  /// Appends to `wire` what to send for `plain`. May hold bytes back during a handshake.
  virtual void encrypt(const std::vector<char>& plain, std::vector<char>& wire) = 0;
  /// Appends to `plain` what `wire` holds. Errors: kRefused (wrong certificate), kLinkLost.
  virtual Status decrypt(const std::vector<char>& wire, std::vector<char>& plain) = 0;
};

/// For loopback and trusted networks.
std::unique_ptr<ByteStream> make_plain_stream();

}  // namespace swarm::actors::links
