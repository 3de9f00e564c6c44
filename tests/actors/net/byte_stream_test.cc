/// The contract of byte streams, run over all of them.
#include "actors/net/links/byte_stream.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/toy_handshake_stream.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;

namespace {

struct Implementation {
  const char* name;
  StreamFactory make;
};
std::ostream& operator<<(std::ostream& out, const Implementation& one) { return out << one.name; }

const std::vector<Implementation> kAll{{"plain", make_stream}, {"toy", testing::make_toy_stream}};

/// One side of a connection; `wire` is on its way to the other.
struct Side {
  explicit Side(std::unique_ptr<ByteStream> own) : stream(std::move(own)) {}
  void send(const std::string& text) {
    const size_t begin = wire.size();
    wire.insert(wire.end(), text.begin(), text.end());
    stream->seal(wire, begin);
  }
  std::unique_ptr<ByteStream> stream;
  std::vector<char> wire;
  std::string heard;
};

struct Connection {
  explicit Connection(const Implementation& one)
      : client(one.make({}, StreamRole::kClient)), server(one.make({}, StreamRole::kServer)) {}

  /// Carries bytes, `piece` at a time, until none are left; true when any moved.
  static bool carry(Side& from, Side& to, size_t piece) {
    const std::vector<char> bytes = std::move(from.wire);
    from.wire.clear();
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const auto plain =
          to.stream->open({bytes.data() + at, std::min(piece, bytes.size() - at)}, to.wire);
      BOOST_REQUIRE(plain.ok());
      to.heard += *plain;
    }
    return !bytes.empty();
  }
  void exchange(size_t piece = 1 << 20) {
    for (bool moved = true; moved;) {
      moved = carry(client, server, piece);
      moved = carry(server, client, piece) || moved;
    }
  }
  Side client, server;
};

std::string long_text(size_t size) {
  std::string text(size, 0);
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 256);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ByteStreams)

BOOST_DATA_TEST_CASE(what_is_sent_arrives_in_order_however_it_is_cut,
                     boost::unit_test::data::make(kAll) *
                         boost::unit_test::data::make({1, 3, 1000, 1 << 20}),
                     one, piece) {
  Connection connection(one);
  const auto text = long_text(5'000);
  connection.client.send(text.substr(0, 10));  // waits inside, where there is a handshake
  connection.client.send(text.substr(10));
  connection.exchange(static_cast<size_t>(piece));
  BOOST_TEST((connection.server.heard == text));
  connection.server.send(text);
  connection.exchange(static_cast<size_t>(piece));
  BOOST_TEST((connection.client.heard == text));
}

BOOST_DATA_TEST_CASE(both_sides_may_speak_before_they_have_heard_anything,
                     boost::unit_test::data::make(kAll), one) {
  Connection connection(one);
  connection.client.send("ping");
  connection.server.send("pong");
  connection.exchange();
  BOOST_TEST(connection.server.heard == "ping");
  BOOST_TEST(connection.client.heard == "pong");
}

BOOST_DATA_TEST_CASE(what_stood_in_the_output_before_is_not_touched,
                     boost::unit_test::data::make(kAll), one) {
  Connection connection(one);
  std::vector<char> out{'o', 'l', 'd', 'n', 'e', 'w'};
  connection.client.stream->seal(out, 3);
  BOOST_TEST((std::string(out.begin(), out.begin() + 3) == "old"));
  connection.client.wire.assign(out.begin() + 3, out.end());
  connection.exchange();
  BOOST_TEST(connection.server.heard == "new");
}

BOOST_DATA_TEST_CASE(a_quiet_stream_sends_nothing, boost::unit_test::data::make(kAll), one) {
  Connection connection(one);
  connection.client.send("once");
  connection.exchange();
  std::vector<char> out;
  BOOST_TEST(connection.server.stream->open({}, out)->empty());
  BOOST_TEST(out.empty());
}

BOOST_AUTO_TEST_CASE(a_stranger_in_the_handshake_is_refused) {
  testing::ToyHandshakeStream server(StreamRole::kServer);
  std::vector<char> out;
  BOOST_TEST((server.open("GET / HTTP/1.1", out).code() == ErrorCode::kRefused));
}

BOOST_AUTO_TEST_SUITE_END()
