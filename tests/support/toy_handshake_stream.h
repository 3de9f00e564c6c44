/// A byte stream with a handshake, as TLS has one, and no security at all: shows what Links must
/// do for a stream that talks on its own.
///
///   client: "C" + key          server: "S" + key, then both XOR all bytes with the other's key
///
/// A server that hears another first byte refuses. Bytes that are to be sent wait until the
/// handshake is through.
#pragma once

#include <memory>
#include <string>

#include "actors/net/links/byte_stream.h"

namespace swarm::testing {

class ToyHandshakeStream : public actors::links::ByteStream {
 public:
  explicit ToyHandshakeStream(actors::links::StreamRole role)
      : client_(role == actors::links::StreamRole::kClient), key_(client_ ? 0x5a : 0x33) {}

  void seal(std::vector<char>& out, size_t begin) override {
    held_.append(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
    out.resize(begin);
    if (client_) greet(out);
    flush(out);
  }

  Result<std::string_view> open(std::string_view wire, std::vector<char>& out) override {
    plain_.clear();
    for (const char byte : wire) {
      if (heard_ >= 2) {
        plain_ += static_cast<char>(byte ^ other_key_);
        continue;
      }
      if (heard_ == 0 && byte != (client_ ? 'S' : 'C'))
        return Error{ErrorCode::kRefused, "not a toy handshake"};
      if (heard_ == 1) other_key_ = byte;
      ++heard_;
    }
    if (heard_ == 2) {
      if (!client_) greet(out);
      flush(out);
    }
    return std::string_view(plain_);
  }

 private:
  void greet(std::vector<char>& out) {
    if (greeted_) return;
    greeted_ = true;
    out.push_back(client_ ? 'C' : 'S');
    out.push_back(key_);
  }
  void flush(std::vector<char>& out) {
    if (heard_ < 2) return;
    for (const char byte : held_) out.push_back(static_cast<char>(byte ^ key_));
    held_.clear();
  }

  const bool client_;
  const char key_;
  char other_key_ = 0;
  int heard_ = 0;  // bytes of the other side's handshake
  bool greeted_ = false;
  std::string held_, plain_;
};

inline std::unique_ptr<actors::links::ByteStream> make_toy_stream(const actors::LinksOptions&,
                                                                  actors::links::StreamRole role) {
  return std::make_unique<ToyHandshakeStream>(role);
}

}  // namespace swarm::testing
