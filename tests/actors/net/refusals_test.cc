/// What a node is told when a hello does not match, and how often.
#include <boost/test/unit_test.hpp>

#include "actors/net/links/refusal_gate.h"
#include "actors/net/links/session.h"
#include "actors/net/links/settings.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart = TimePoint{} + 1h;

/// A node of a run; its settings decide its fingerprint and run id.
std::shared_ptr<LinksOptions> node(uint8_t number, const std::vector<SharedSetting>& settings) {
  auto options = std::make_shared<LinksOptions>();
  options->node_id.bytes[0] = number;
  options->node_name = "node" + std::to_string(number);
  options->settings = settings;
  for (const auto& setting : settings) options->config_fingerprint += setting.value + ",";
  options->config_fingerprint.resize(std::min<size_t>(options->config_fingerprint.size(), 32));
  options->run_id = "run-" + options->config_fingerprint;
  return options;
}

struct Meeting {
  Meeting(std::shared_ptr<LinksOptions> a_options, std::shared_ptr<LinksOptions> b_options) {
    a_options->on_refused = [this](const Refusal& refusal) { told_a.push_back(refusal); };
    b_options->on_refused = [this](const Refusal& refusal) { told_b.push_back(refusal); };
    auto budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
    Session a(a_options, true, budget, kStart, "10.0.0.2:7000");
    Session b(b_options, false, budget, kStart, "10.0.0.1:40000");
    for (bool moved = true; moved;) {
      moved = false;
      const std::pair<Session*, Session*> ways[] = {{&a, &b}, {&b, &a}};
      for (const auto& [from, to] : ways) {
        std::vector<char> bytes;
        if (!from->next_chunk(bytes)) continue;
        to->receive(bytes.data(), bytes.size(), kStart);
        moved = true;
      }
    }
    up = a.state() == Session::State::kUp;
  }
  std::vector<Refusal> told_a, told_b;
  bool up = false;
};

bool says(const Refusal& refusal, const std::string& text) {
  return refusal.reason.find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Refusals)

BOOST_AUTO_TEST_CASE(both_sides_are_told_which_settings_differ_with_both_values) {
  Meeting meeting(node(1, {{"model.width", "64"}, {"model.layers", "2"}}),
                  node(2, {{"model.width", "32"}, {"model.layers", "2"}}));
  BOOST_TEST(!meeting.up);
  BOOST_REQUIRE_EQUAL(meeting.told_a.size(), 1u);
  BOOST_REQUIRE_EQUAL(meeting.told_b.size(), 1u);
  for (const auto& refusal : {meeting.told_a[0], meeting.told_b[0]}) {
    BOOST_TEST(says(refusal, "model.width is 64 at 'node1' and 32 at 'node2'"), refusal.reason);
    BOOST_TEST(!says(refusal, "model.layers"));
  }
  BOOST_TEST(meeting.told_a[0].address == "10.0.0.2:7000");
  BOOST_TEST(meeting.told_a[0].dialled);
  BOOST_TEST(meeting.told_b[0].address == "10.0.0.1:40000");
  BOOST_TEST(!meeting.told_b[0].dialled);
}

BOOST_AUTO_TEST_CASE(six_settings_are_named_and_the_rest_counted) {
  std::vector<SharedSetting> ones, twos;
  for (int i = 0; i < 9; ++i) {
    ones.push_back({"key" + std::to_string(i), "1"});
    twos.push_back({"key" + std::to_string(i), "2"});
  }
  Meeting meeting(node(1, ones), node(2, twos));
  BOOST_REQUIRE_EQUAL(meeting.told_b.size(), 1u);
  BOOST_TEST(says(meeting.told_b[0], "key5"));
  BOOST_TEST(!says(meeting.told_b[0], "key6"));
  BOOST_TEST(says(meeting.told_b[0], "and 3 more"));
}

BOOST_AUTO_TEST_CASE(equal_settings_of_two_runs_are_refused_by_the_runs_names) {
  auto a = node(1, {{"k", "1"}}), b = node(2, {{"k", "1"}});
  b->run_id = "other";
  Meeting meeting(a, b);
  BOOST_REQUIRE_EQUAL(meeting.told_a.size(), 1u);
  BOOST_TEST(says(meeting.told_a[0], "'other' of 'node2'"), meeting.told_a[0].reason);
}

BOOST_AUTO_TEST_CASE(a_strangers_bytes_are_not_printed_raw) {
  Meeting meeting(node(1, {{"k", "\x1b[2J\n"}}), node(2, {{"k", "1"}}));
  BOOST_REQUIRE_EQUAL(meeting.told_b.size(), 1u);
  for (const char c : meeting.told_b[0].reason) BOOST_TEST((c >= 0x20 && c < 0x7f));
  BOOST_TEST(says(meeting.told_b[0], "\\x1b[2J\\x0a"));
}

BOOST_AUTO_TEST_CASE(a_hello_with_as_many_settings_as_it_may_carry_is_read) {
  std::vector<SharedSetting> many;
  for (int i = 0; i < 500; ++i) many.push_back({"section.key" + std::to_string(i), "value"});
  proto::Hello hello;
  add_settings(many, hello);
  BOOST_TEST(hello.settings_size() == kMaxSettings);
  BOOST_TEST(settings_fit(hello));
  std::vector<SharedSetting> long_ones(10, {"key", std::string(900, 'x')});
  proto::Hello large;
  add_settings(long_ones, large);
  BOOST_TEST(large.settings_size() == 3);
  auto longest = node(1, long_ones);
  longest->run_id = std::string(128, 'r');
  longest->node_name = std::string(64, 'n');
  BOOST_TEST(make_hello(*longest).ByteSizeLong() <= kMaxStrangerHeadBytes);
  Meeting meeting(node(1, many), node(2, many));
  BOOST_TEST(meeting.up);
}

BOOST_AUTO_TEST_CASE(a_hello_with_more_settings_than_allowed_is_refused) {
  proto::Hello hello = make_hello(*node(1, {}));
  for (int i = 0; i <= kMaxSettings; ++i) hello.add_settings()->set_key("k");
  BOOST_TEST((check_hello(hello, *node(2, {})).code() == ErrorCode::kRefused));
}

BOOST_AUTO_TEST_CASE(an_address_is_told_of_once_a_minute_whatever_its_port) {
  RefusalGate gate;
  const auto passes = [&](const std::string& address, std::chrono::seconds at) {
    return gate.passes(address, /*dialled=*/false, kStart + at);
  };
  BOOST_TEST(passes("10.0.0.1:1", 0s));
  BOOST_TEST(!passes("10.0.0.1:2", 59s));
  BOOST_TEST(passes("10.0.0.2:1", 59s));
  BOOST_TEST(passes("10.0.0.1:3", 60s));
  for (int i = 0; i < 10'000; ++i) passes("host" + std::to_string(i) + ":1", 61s);
  BOOST_TEST(!passes("one more:1", 61s));
}

// 256 strangers a minute filled the log, and the one refusal that mattered was not told.
BOOST_AUTO_TEST_CASE(strangers_keep_no_refusal_from_being_told_that_this_node_met_itself) {
  RefusalGate gate;
  for (auto at = kStart; at <= kStart + 60s; at += 60s) {
    int told = 0;
    for (int i = 0; i < 10'000; ++i)
      told += gate.passes("10.6." + std::to_string(i) + ":1", /*dialled=*/false, at) ? 1 : 0;
    BOOST_TEST(told == 32);
    BOOST_TEST(gate.passes("10.0.0.1:7000", /*dialled=*/true, at));
    BOOST_TEST(!gate.passes("10.0.0.1:7000", /*dialled=*/true, at));
  }
}

BOOST_AUTO_TEST_SUITE_END()
