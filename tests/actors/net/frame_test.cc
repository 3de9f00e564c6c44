#include "actors/net/links/frame.h"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using Outcome = FrameDecoder::Outcome;

namespace {

std::shared_ptr<ReceiveBudget> budget(uint64_t bytes = 1 << 20) {
  return std::make_shared<ReceiveBudget>(bytes, nullptr);
}

OutFrame echo_frame(uint64_t id, std::string body, proto::MessageKind kind = proto::KIND_ECHO) {
  proto::Echo echo;
  echo.set_sequence(id);
  return make_frame(kind, kRequest, id, std::chrono::milliseconds(5), "echo", echo,
                    Buffer::from_string(std::move(body)));
}

std::vector<char> bytes_of(OutFrame frame, uint32_t chunk = 1000) {
  std::vector<char> bytes;
  while (!append_chunk(frame, chunk, bytes)) {
  }
  return bytes;
}

/// Feeds in pieces of `piece` bytes; returns the last outcome that was not kMore.
Outcome feed(FrameDecoder& decoder, const std::vector<char>& bytes, size_t piece,
             std::vector<InFrame>* frames = nullptr) {
  auto data = reinterpret_cast<const uint8_t*>(bytes.data());
  for (size_t at = 0; at < bytes.size();) {
    size_t end = std::min(bytes.size(), at + piece);
    while (at < end) {
      size_t used = 0;
      auto outcome = decoder.feed(data + at, end - at, used);
      at += used;
      if (outcome == Outcome::kFrame) {
        if (frames != nullptr) frames->push_back(std::move(decoder.frame()));
      } else if (outcome != Outcome::kMore) {
        return outcome;
      }
    }
  }
  return Outcome::kMore;
}

FrameDecoder trusted(std::shared_ptr<ReceiveBudget> bytes = budget(), FrameLimits limits = {}) {
  FrameDecoder decoder(limits, std::move(bytes));
  decoder.trust();
  return decoder;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Frames)

BOOST_AUTO_TEST_CASE(a_frame_survives_any_cut_of_its_bytes) {
  std::string body(2500, 'b');
  body[1234] = 'x';
  auto bytes = bytes_of(echo_frame(9, body));
  for (size_t piece = 1; piece <= bytes.size(); piece += piece < 60 ? 1 : 371) {
    auto decoder = trusted();
    std::vector<InFrame> frames;
    BOOST_REQUIRE((feed(decoder, bytes, piece, &frames) == Outcome::kMore));
    BOOST_REQUIRE_EQUAL(frames.size(), 1u);
    BOOST_TEST(frames[0].actor == "echo");
    BOOST_TEST(frames[0].header.request_id == 9u);
    BOOST_TEST(frames[0].header.budget_ms == 5u);
    BOOST_TEST((frames[0].body.view() == body));
    proto::Echo echo;
    BOOST_TEST(echo.ParseFromString(frames[0].head));
    BOOST_TEST(echo.sequence() == 9u);
  }
}

BOOST_AUTO_TEST_CASE(two_cuts_anywhere_change_nothing) {
  auto bytes = bytes_of(echo_frame(1, std::string(70, 'b')), 50);
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    auto decoder = trusted();
    std::vector<InFrame> frames;
    std::vector<char> left(bytes.begin(), bytes.begin() + cut),
        right(bytes.begin() + cut, bytes.end());
    feed(decoder, left, left.size(), &frames);
    feed(decoder, right, right.size(), &frames);
    BOOST_REQUIRE_EQUAL(frames.size(), 1u);
    BOOST_TEST(frames[0].body.size() == 70u);
  }
}

BOOST_AUTO_TEST_CASE(head_tag_and_body_are_one_protobuf_message) {
  auto frame = echo_frame(4, std::string(300, 'p'));
  std::string message = frame.front.substr(kFrameHeaderBytes + frame.header.actor_bytes);
  message += frame.body.view();
  proto::Echo echo;
  BOOST_REQUIRE(echo.ParseFromString(message));
  BOOST_TEST(echo.sequence() == 4u);
  BOOST_TEST(echo.payload() == std::string(300, 'p'));
}

BOOST_AUTO_TEST_CASE(chunks_of_different_classes_may_alternate) {
  auto slow = echo_frame(1, std::string(3000, 's'), proto::KIND_FORWARD);
  auto fast = echo_frame(2, std::string(2000, 'f'), proto::KIND_FORWARD_REPLY);
  std::vector<char> bytes;
  append_chunk(slow, 500, bytes);
  append_chunk(fast, 500, bytes);
  append_chunk(slow, 500, bytes);
  while (!append_chunk(fast, 500, bytes)) {
  }
  while (!append_chunk(slow, 500, bytes)) {
  }
  auto decoder = trusted();
  std::vector<InFrame> frames;
  BOOST_REQUIRE((feed(decoder, bytes, 77, &frames) == Outcome::kMore));
  BOOST_REQUIRE_EQUAL(frames.size(), 2u);
  BOOST_TEST((frames[0].body.view() == std::string(2000, 'f')));
  BOOST_TEST((frames[1].body.view() == std::string(3000, 's')));
  auto counted = decoder.bytes();
  BOOST_TEST(counted[1] > 2000u);
  BOOST_TEST(counted[2] > 3000u);
  BOOST_TEST(counted[1] + counted[2] == bytes.size());
}

BOOST_AUTO_TEST_CASE(a_second_frame_inside_one_of_its_class_is_refused) {
  auto first = echo_frame(1, std::string(3000, 's'));
  auto second = echo_frame(2, std::string(3000, 's'));
  std::vector<char> bytes;
  append_chunk(first, 500, bytes);
  append_chunk(second, 500, bytes);
  auto decoder = trusted();
  BOOST_TEST((feed(decoder, bytes, bytes.size()) == Outcome::kMalformed));
}

BOOST_AUTO_TEST_CASE(a_stranger_may_not_announce_a_body_or_a_large_head) {
  FrameDecoder stranger({}, budget());
  BOOST_TEST((feed(stranger, bytes_of(echo_frame(1, "b")), 100) == Outcome::kMalformed));
  FrameDecoder another({}, budget());
  proto::Hello hello;
  hello.set_run_id(std::string(kMaxStrangerHeadBytes, 'x'));
  auto frame = make_frame(proto::KIND_HELLO, kOneWay, 0, {}, "", hello, {});
  BOOST_TEST((feed(another, bytes_of(frame, 10'000), 100) == Outcome::kMalformed));
}

BOOST_AUTO_TEST_CASE(limits_are_checked_before_anything_is_held) {
  FrameLimits limits;
  limits.max_body_bytes = 1000;
  auto shared = budget();
  auto decoder = trusted(shared, limits);
  BOOST_TEST(
      (feed(decoder, bytes_of(echo_frame(1, std::string(1001, 'b'))), 48) == Outcome::kMalformed));
  BOOST_TEST(shared->used_bytes() == 0u);
  limits.max_chunk_bytes = 100;
  auto small = trusted(shared, limits);
  BOOST_TEST(
      (feed(small, bytes_of(echo_frame(1, std::string(500, 'b'))), 48) == Outcome::kMalformed));
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_budget_waits_until_another_is_let_go) {
  auto shared = budget(1500);
  auto decoder = trusted(shared);
  std::vector<InFrame> held;
  BOOST_REQUIRE((feed(decoder, bytes_of(echo_frame(1, std::string(1000, 'a'))), 5000, &held) ==
                 Outcome::kMore));
  auto bytes = bytes_of(echo_frame(2, std::string(1000, 'b')), 5000);
  auto data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t used = 0, more = 0;
  BOOST_REQUIRE((decoder.feed(data, bytes.size(), used) == Outcome::kNeedBudget));
  BOOST_REQUIRE((decoder.feed(data + used, bytes.size() - used, more) == Outcome::kNeedBudget));
  held.clear();
  BOOST_REQUIRE((decoder.feed(data + used, bytes.size() - used, more) == Outcome::kFrame));
  BOOST_TEST((decoder.frame().body.view() == std::string(1000, 'b')));
}

BOOST_AUTO_TEST_CASE(a_body_that_is_not_wanted_is_dropped_as_it_comes) {
  auto shared = budget();
  FrameDecoder decoder({}, shared, [](const FrameHeader& header, const std::string& actor) {
    return actor == "echo" && header.request_id == 2 ? BodyRule::kSkip : BodyRule::kWait;
  });
  decoder.trust();
  auto bytes = bytes_of(echo_frame(2, std::string(5000, 'b')));
  std::vector<InFrame> frames;
  // Known as soon as the body begins, and no memory is taken for it.
  const std::vector<char> beginning(bytes.begin(), bytes.begin() + 200);
  BOOST_REQUIRE((feed(decoder, beginning, 100, &frames) == Outcome::kMore));
  BOOST_REQUIRE_EQUAL(frames.size(), 1u);
  BOOST_TEST(frames[0].skipped);
  BOOST_TEST(frames[0].actor == "echo");
  BOOST_TEST(frames[0].body.size() == 0u);
  BOOST_TEST(shared->used_bytes() == 0u);
  const std::vector<char> rest(bytes.begin() + 200, bytes.end());
  BOOST_REQUIRE((feed(decoder, rest, 100, &frames) == Outcome::kMore));
  BOOST_REQUIRE((feed(decoder, bytes_of(echo_frame(3, "next")), 7, &frames) == Outcome::kMore));
  BOOST_REQUIRE_EQUAL(frames.size(), 2u);
  BOOST_TEST(!frames[1].skipped);
  BOOST_TEST((frames[1].body.view() == "next"));
}

BOOST_AUTO_TEST_CASE(a_frame_may_be_broken_off_anywhere) {
  for (size_t chunks = 1; chunks < 6; ++chunks) {
    auto shared = budget();
    auto decoder = trusted(shared);
    auto frame = echo_frame(1, std::string(5000, 'b'));
    std::vector<char> bytes;
    for (size_t i = 0; i < chunks; ++i) BOOST_REQUIRE(!append_chunk(frame, 900, bytes));
    frame.broken = true;
    BOOST_TEST(append_chunk(frame, 900, bytes));
    std::vector<InFrame> frames;
    BOOST_REQUIRE((feed(decoder, bytes, 64, &frames) == Outcome::kMore));
    BOOST_TEST(frames.empty());
    BOOST_TEST(shared->used_bytes() == 0u);
    BOOST_TEST(!decoder.expects_body());
    BOOST_REQUIRE((feed(decoder, bytes_of(echo_frame(2, "next")), 64, &frames) == Outcome::kMore));
    BOOST_TEST(frames.size() == 1u);
  }
  auto frame = echo_frame(1, "never begun");
  frame.broken = true;
  std::vector<char> bytes;
  append_chunk(frame, 900, bytes);
  auto decoder = trusted();
  BOOST_TEST((feed(decoder, bytes, 64) == Outcome::kMalformed));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_taken_over_are_free_again_though_the_memory_is_used) {
  auto shared = budget(1000);
  auto decoder = trusted(shared);
  std::vector<InFrame> frames;
  BOOST_REQUIRE((feed(decoder, bytes_of(echo_frame(1, std::string(900, 'b'))), 99, &frames) ==
                 Outcome::kMore));
  BOOST_TEST(shared->used_bytes() == 900u);
  Mail mail;
  mail.body = frames[0].body;
  mail.hold = frames[0].hold;
  take_over_body(mail);
  take_over_body(mail);
  BOOST_TEST(shared->used_bytes() == 0u);
  BOOST_TEST((mail.body.view() == std::string(900, 'b')));
  frames.clear();
  mail = {};
  BOOST_TEST(shared->used_bytes() == 0u);
  take_over_body(mail);
}

BOOST_AUTO_TEST_CASE(a_wrong_byte_anywhere_in_the_headers_is_never_a_crash) {
  auto good = bytes_of(echo_frame(1, std::string(100, 'b')), 60);
  for (size_t at = 0; at < good.size(); ++at) {
    for (int flip : {1, 0x80, 0xff}) {
      auto bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      auto decoder = trusted();
      feed(decoder, bytes, 33);
    }
  }
  auto bytes = good;
  bytes[kChunkHeaderBytes] ^= 1;
  auto decoder = trusted();
  BOOST_TEST((feed(decoder, bytes, 33) == Outcome::kMalformed));
}

BOOST_AUTO_TEST_CASE(random_bytes_hold_no_memory) {
  std::minstd_rand random(5);
  auto shared = budget();
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> noise(random() % 300 + 8);
    for (auto& byte : noise) byte = static_cast<char>(random());
    if (round % 2 == 0) noise[0] = static_cast<char>(kChunkMarker);
    auto decoder = trusted(shared);
    feed(decoder, noise, 16);
    BOOST_REQUIRE_EQUAL(shared->used_bytes(), 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
