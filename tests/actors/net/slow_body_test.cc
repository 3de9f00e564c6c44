// A few bytes now and then held the receive budget for ever, and nobody else's bodies were read; a first
// byte took the memory of all that were announced.
#include <boost/test/unit_test.hpp>

#include "actors/net/links/session.h"
#include "swarm/train.pb.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart = TimePoint{} + 1h;

std::shared_ptr<LinksOptions> options(uint8_t number) {
  auto options = std::make_shared<LinksOptions>(testing::link_options(number));
  return options;
}

/// Bodies of 40,000 bytes come to one node from two others; there is room for one.
struct Crowd {
  Crowd() {
    testing::exchange(slow, from_slow, kStart);
    testing::exchange(other, from_other, kStart);
    for (Session* one : {&slow, &other}) {
      const Buffer body = Buffer::from_string(std::string(40'000, 'b'));
      BOOST_REQUIRE(one->send("echo", make_mail(proto::Echo(), body)).ok());
      while (one->next_chunk(one == &slow ? slow_bytes : other_bytes)) {
      }
    }
    from_slow.receive(slow_bytes.data(), 5'000, kStart);
    sent = 5'000;
  }
  void others_wait() {
    from_other.receive(other_bytes.data(), other_bytes.size(), kStart);
    BOOST_TEST(from_other.paused());
  }
  /// For a minute; true: the link is still up.
  bool lives(size_t bytes_per_s) {
    for (int second = 1; second <= 61; ++second) {
      const TimePoint now = kStart + second * 1s;
      if (bytes_per_s > 0 && sent + bytes_per_s < slow_bytes.size()) {
        from_slow.receive(slow_bytes.data() + sent, bytes_per_s, now);
        sent += bytes_per_s;
      } else {
        from_slow.receive("", 0, now);  // heard, but nothing comes
      }
      from_slow.tick(now);
    }
    return from_slow.state() == Session::State::kUp;
  }

  std::shared_ptr<ReceiveBudget> budget = std::make_shared<ReceiveBudget>(50'000, nullptr);
  std::shared_ptr<ReceiveBudget> own = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  Session slow{options(1), true, own, kStart}, other{options(2), true, own, kStart};
  Session from_slow{options(3), false, budget, kStart},
      from_other{options(3), false, budget, kStart};
  std::vector<char> slow_bytes, other_bytes;
  size_t sent = 0;
};

/// One link's input, and a frame on its way there.
struct Input {
  Input(std::shared_ptr<ReceiveBudget> budget, size_t body, size_t head = 0, bool proven = false)
      : decoder({}, std::move(budget)) {
    decoder.trust(proven);
    proto::CloseStep close;
    for (size_t i = 0; i < head / 20; ++i) close.add_members()->set_node_id(std::string(16, 'm'));
    auto frame = make_frame(proto::KIND_CLOSE_STEP, kOneWay, 0, 0ms, "stage.0", close,
                            Buffer::from_string(std::string(body, 'b')));
    while (!append_chunk(frame, 64'000, bytes)) {
    }
  }
  /// Up to byte `end`.
  FrameDecoder::Outcome come(size_t end) {
    size_t used = 0;
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    const auto outcome = decoder.feed(data + at, std::min(end, bytes.size()) - at, used);
    at += used;
    return outcome;
  }
  FrameDecoder decoder;
  std::vector<char> bytes;
  size_t at = 0;
};

using Outcome = FrameDecoder::Outcome;

}  // namespace

BOOST_AUTO_TEST_SUITE(SlowBodies)

BOOST_AUTO_TEST_CASE(who_keeps_others_waiting_and_sends_nearly_nothing_is_cut) {
  Crowd crowd;
  crowd.others_wait();
  BOOST_TEST(!crowd.lives(1));
  BOOST_TEST(crowd.from_slow.reason().detail.find("half here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_slow_link_that_brings_what_it_can_is_not) {
  Crowd steady;
  steady.others_wait();
  for (int second = 1; second <= 31; ++second) {
    steady.from_slow.receive(steady.slow_bytes.data() + steady.sent, 1'100, kStart + second * 1s);
    steady.sent += 1'100;
    steady.from_slow.tick(kStart + second * 1s);
  }
  BOOST_TEST((steady.from_slow.state() == Session::State::kUp));
}

BOOST_AUTO_TEST_CASE(while_nobody_waits_any_rate_will_do) {
  Crowd crowd;
  BOOST_TEST(crowd.lives(1));
}

BOOST_AUTO_TEST_CASE(a_body_takes_the_budget_as_it_arrives) {
  const auto budget = std::make_shared<ReceiveBudget>(512 << 20, nullptr);
  constexpr size_t kWhole = 20 << 20;
  Input slow(budget, kWhole);
  slow.come(1'000);
  BOOST_TEST(budget->used_bytes() == ReceiveBudget::kFirstBytes);
  for (size_t end = 1'000; end < slow.bytes.size(); end += 100'000) {
    BOOST_REQUIRE((slow.come(end) == Outcome::kMore));
    const uint64_t most = ReceiveBudget::kGrowth * end + ReceiveBudget::kFirstBytes;
    BOOST_REQUIRE(budget->used_bytes() <= std::min<uint64_t>(most, kWhole));
  }
  BOOST_REQUIRE((slow.come(slow.bytes.size()) == Outcome::kFrame));
  BOOST_TEST(budget->used_bytes() == kWhole);
  BOOST_TEST((slow.decoder.frame().body.view() == std::string(kWhole, 'b')));
  slow.decoder.frame() = {};
  BOOST_TEST(budget->used_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(bodies_that_have_begun_do_not_wait_for_one_another) {
  const auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  std::vector<std::unique_ptr<Input>> inputs;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(std::make_unique<Input>(budget, 900'000));
    BOOST_REQUIRE((inputs.back()->come(200'000) == Outcome::kMore));
  }
  size_t whole = 0;
  for (int turn = 0; turn < 4 && whole < 4; ++turn) {
    bool came = false;
    for (auto& input : inputs) {
      if (input == nullptr || input->come(input->bytes.size()) != Outcome::kFrame) continue;
      BOOST_TEST(input->decoder.frame().body.size() == 900'000u);
      BOOST_TEST(budget->used_bytes() <= (1u << 20) + 900'000u);  // one past the limit at a time
      input.reset();
      ++whole;
      came = true;
    }
    BOOST_REQUIRE(came);
  }
  BOOST_TEST(whole == 4u);
  BOOST_TEST(budget->used_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(who_goes_on_past_the_limit_and_leaves_lets_the_next_go_on) {
  const auto budget = std::make_shared<ReceiveBudget>(600'000, nullptr);
  auto first = std::make_unique<Input>(budget, 900'000);
  auto second = std::make_unique<Input>(budget, 900'000);
  first->come(200'000);
  second->come(200'000);
  BOOST_TEST((first->come(500'000) == Outcome::kMore));
  BOOST_TEST((second->come(500'000) == Outcome::kNeedBudget));
  first.reset();
  BOOST_TEST((second->come(2'000'000) == Outcome::kFrame));
}

BOOST_AUTO_TEST_CASE(long_heads_count_as_they_arrive_and_those_of_strangers_end) {
  const auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  std::vector<std::unique_ptr<Input>> inputs;
  constexpr size_t kHead = 900'000;
  Outcome last = Outcome::kMore;
  while (last == Outcome::kMore && inputs.size() < 1'000) {
    inputs.push_back(std::make_unique<Input>(budget, 0, kHead));
    last = inputs.back()->come(kHead);
  }
  BOOST_TEST((last == Outcome::kMalformed));
  BOOST_TEST(inputs.size() > ReceiveBudget::kLeastHeads / (4 * kHead));
  BOOST_TEST(budget->head_bytes() <
             ReceiveBudget::kLeastHeads / 2 + (1 << 20));  // room for whole mail
  BOOST_TEST(ReceiveHold(budget).add_head(ReceiveBudget::kLeastHeads / 3));
  Input known(budget, 0, kHead, true);
  BOOST_TEST((known.come(known.bytes.size()) == Outcome::kFrame));
  Input small(budget, 0, 2'000);
  BOOST_TEST((small.come(small.bytes.size()) == Outcome::kFrame));
  inputs.clear();
  known.decoder.frame() = {};
  BOOST_TEST(budget->head_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(mail_that_waits_counts_with_its_head_wherever_it_came_from) {
  const auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  std::vector<LinkEvent> mailboxes;
  size_t taken = 0;
  for (uint8_t link = 1; link <= 2; ++link) {
    Session from(options(link), true, std::make_shared<ReceiveBudget>(1 << 20, nullptr), kStart);
    Session to(options(3), false, budget, kStart);
    testing::exchange(from, to, kStart);
    to.take_events();
    proto::CloseStep close;
    for (int i = 0; i < 20'000; ++i) close.add_members()->set_node_id(std::string(16, 'm'));
    for (int i = 0; i < 40; ++i) BOOST_REQUIRE(from.send("stage.0", make_mail(close)).ok());
    testing::exchange(from, to, kStart);
    for (auto& event : to.take_events()) {
      mailboxes.push_back(std::move(event));
      ++taken;
    }
    BOOST_TEST((to.state() == Session::State::kUp));
  }
  BOOST_TEST(taken > 10u);
  BOOST_TEST(taken < 80u);
  BOOST_TEST(budget->head_bytes() <= ReceiveBudget::kLeastHeads);
  mailboxes.clear();
  BOOST_TEST(budget->head_bytes() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
