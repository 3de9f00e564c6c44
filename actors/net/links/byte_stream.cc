#include "actors/net/links/byte_stream.h"

namespace swarm::actors::links {
namespace {

class PlainStream : public ByteStream {
 public:
  bool is_plain() const override { return true; }
  void encrypt(const std::vector<char>& plain, std::vector<char>& wire) override {
    wire.insert(wire.end(), plain.begin(), plain.end());
  }
  Status decrypt(const std::vector<char>& wire, std::vector<char>& plain) override {
    plain.insert(plain.end(), wire.begin(), wire.end());
    return {};
  }
};

}  // namespace

std::unique_ptr<ByteStream> make_plain_stream() { return std::make_unique<PlainStream>(); }

}  // namespace swarm::actors::links
