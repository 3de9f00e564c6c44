/// Averagers of a stage that averages in two levels.
#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "routing/averaging/two_level_plan.h"
#include "tests/support/averagers.h"
#include "tests/support/codecs.h"
#include "tests/support/member_rounds.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using sim::Fate;
using testing::Ask;
using testing::id_of;
using testing::Outcome;
using testing::World;

constexpr uint8_t kMembers = 20;

/// Twenty averagers; everybody's groups are those of equal weights.
struct Twenty : World {
  testing::StageMembers stage;
  routing::Groups groups = routing::plan_groups(std::vector<uint32_t>(kMembers, 1));
  google::protobuf::RepeatedPtrField<proto::PartRelay> relays;

  Twenty() {
    stage.n = 3'000;
    for (uint64_t i = 0; i < kMembers; ++i) stage.samples.push_back(i % 4);
    stage.draw(1);
  }
  AverageRound spec(uint32_t self) {
    auto round = stage.of(self);
    for (uint8_t i = 0; i < kMembers; ++i) {
      const uint64_t samples = round.members[i].samples;
      round.members[i] = member(i, samples);
    }
    BOOST_REQUIRE(add_relays(relays, self, round.members).ok());
    return round;
  }
  std::unique_ptr<Ask<AverageResult>> start(uint32_t self) {
    return std::make_unique<Ask<AverageResult>>(*system, averagers[self], average_atom::value,
                                                spec(self));
  }
  std::vector<std::unique_ptr<Ask<AverageResult>>> start_but(uint32_t late = kMembers) {
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks(kMembers);
    for (uint32_t i = 0; i < kMembers; ++i)
      if (i != late) asks[i] = start(i);
    system.run();
    return asks;
  }
  /// The mean, which all have with the same bits.
  Buffer mean_of(std::vector<std::unique_ptr<Ask<AverageResult>>> asks) {
    std::vector<Outcome<AverageResult>> outcomes;
    for (auto& ask : asks) outcomes.push_back(ask->answer());
    for (auto& outcome : outcomes) {
      BOOST_REQUIRE_MESSAGE(outcome.value, outcome.detail);
      BOOST_TEST(outcome.value->digest == outcomes[0].value->digest);
    }
    ++stage.round;
    return outcomes[0].value->mean;
  }
  void cut(uint8_t a, uint8_t b) {
    network.set_filter([this, a, b](const NodeId& from, const ActorId& to, const Mail& mail) {
      if (mail.kind == proto::KIND_AVERAGE_PART)
        passed += mail.as<proto::AveragePart>().relay_to() != 0 ? 1 : 0;
      const bool one = from == id_of(a) && to.node == id_of(b);
      return one || (from == id_of(b) && to.node == id_of(a)) ? Fate::kLinkLost : Fate::kDeliver;
    });
  }
  size_t passed = 0;
};

BOOST_FIXTURE_TEST_SUITE(AveragerTwoLevel, Twenty)

BOOST_AUTO_TEST_CASE(twenty_members_get_the_same_bits_in_every_codec_and_repetition) {
  for (const auto codec : testing::all_codecs()) {
    Twenty world;
    auto options = World::small_chunks();
    options.codec = codec;
    world.add_many(kMembers, options);
    const Buffer mean = world.mean_of(world.start_but());
    BOOST_TEST(world.stage.worst_error(mean) < testing::mean_tolerance(codec));
    BOOST_TEST((world.mean_of(world.start_but()).size() == mean.size()));
    Twenty again;
    again.add_many(kMembers, options);
    BOOST_TEST((again.mean_of(again.start_but()).view() == mean.view()));
  }
}

BOOST_AUTO_TEST_CASE(a_member_is_linked_with_those_of_its_group_and_few_of_the_others) {
  std::set<std::pair<NodeId, NodeId>> pairs;
  network.set_filter([&](const NodeId& from, const ActorId& to, const Mail&) {
    pairs.insert({from, to.node});
    return Fate::kDeliver;
  });
  add_many(kMembers);
  mean_of(start_but());
  BOOST_TEST(pairs.size() == kMembers * 7u);  // 4 of its 5, one of each other group
}

BOOST_AUTO_TEST_CASE(a_late_start_is_waited_for) {
  add_many(kMembers);
  for (const uint32_t late : {0u, 7u, 8u}) {  // 0 and 8 bring nothing but reduce
    auto asks = start_but(late);
    system.advance(1'500ms);
    for (uint32_t i = 0; i < kMembers; ++i)
      if (i != late) BOOST_TEST(!asks[i]->answered());
    asks[late] = start(late);
    system.advance(200ms);
    BOOST_TEST(stage.worst_error(mean_of(std::move(asks))) < 1e-5);
    system.advance(60s);
  }
}

BOOST_AUTO_TEST_CASE(too_many_early_parts_are_refused_and_sent_again) {
  for (uint8_t n = 0; n < kMembers; ++n) {
    auto tight = deps(n, World::small_chunks());
    tight.max_held_bytes = 700;  // one part
    add(tight);
  }
  auto asks = start_but(3);
  system.advance(500ms);
  asks[3] = start(3);
  system.advance(500ms);
  BOOST_TEST(stage.worst_error(mean_of(std::move(asks))) < 1e-5);
}

BOOST_AUTO_TEST_CASE(a_silent_member_is_named_by_its_group_and_by_nobody_else) {
  add_many(kMembers);
  const uint32_t silent = 7;
  auto asks = start_but(silent);
  system.advance(4s);
  for (const auto& group : groups) {
    const bool of_it = std::count(group.begin(), group.end(), silent) > 0;
    for (const uint32_t one : group) {
      if (one == silent) continue;
      const auto outcome = asks[one]->answer();
      BOOST_TEST(!outcome.value);
      // Who hears of the others' failure before its own deadline names nobody.
      if (!outcome.unreached.empty())
        BOOST_TEST((of_it && outcome.unreached == std::vector<uint32_t>{silent}), outcome.detail);
    }
  }
  bool named = false;
  for (const auto& group : groups)
    for (const uint32_t one : group)
      named |= describe(one).find(member(silent).averager.brief()) != std::string::npos;
  BOOST_TEST(named);
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_fails_the_round_and_the_next_one_is_done_without_it) {
  for (const int deaths_at : {0, 3, 30, 90}) {
    Twenty world;
    world.add_many(kMembers);
    int mails = 0;
    world.network.set_filter([&](const NodeId& from, const ActorId&, const Mail&) {
      return from == id_of(19) && mails++ >= deaths_at ? Fate::kDrop : Fate::kDeliver;
    });
    auto asks = world.start_but();
    world.network.kill(id_of(19));
    world.system.run();
    size_t lost = 0;
    for (uint32_t i = 0; i < 19; ++i) {
      // Groups that only miss a sum hear of it from the coordinator.
      caf::anon_send(world.averagers[i], abandon_atom::value, world.stage.round);
      world.system.run();
      const auto outcome = asks[i]->answer();
      BOOST_TEST(!outcome.value);
      if (outcome.unreached.empty()) continue;
      ++lost;
      BOOST_TEST((outcome.unreached == std::vector<uint32_t>{19}), outcome.detail);
    }
    BOOST_TEST(lost > 0u);
    world.network.set_filter(nullptr);
    auto left = world.stage;
    left.samples.pop_back();
    left.round = Round(2);
    left.draw(3);
    std::vector<std::unique_ptr<Ask<AverageResult>>> again;
    for (uint32_t i = 0; i < 19; ++i) {
      auto spec = left.of(i);
      for (uint8_t j = 0; j < 19; ++j) spec.members[j] = world.member(j, left.samples[j]);
      again.push_back(std::make_unique<Ask<AverageResult>>(*world.system, world.averagers[i],
                                                           average_atom::value, spec));
    }
    world.system.run();
    BOOST_TEST(left.worst_error(world.mean_of(std::move(again))) < 1e-5);
  }
}

/// Pairs that talk to each other at the first level and at the second; the relay need not talk to either.
BOOST_AUTO_TEST_CASE(a_relay_changes_no_bit_whoever_it_is) {
  Buffer expected;
  {
    Twenty plain;
    plain.add_many(kMembers);
    expected = plain.mean_of(plain.start_but());
  }
  for (const auto& [a, b] : std::vector<std::pair<uint32_t, uint32_t>>{
           {groups[0][1], groups[0][3]}, {groups[0][2], groups[2][2]}}) {
    size_t relayed = 0;
    for (uint32_t via = 0; via < kMembers; ++via) {
      if (via == a || via == b) continue;
      Twenty world;
      world.add_many(kMembers);
      auto* relay = world.relays.Add();
      relay->set_a(a);
      relay->set_b(b);
      relay->set_via(via);
      world.cut(static_cast<uint8_t>(a), static_cast<uint8_t>(b));
      auto asks = world.start_but();
      world.system.advance(1s);
      BOOST_TEST((world.mean_of(std::move(asks)).view() == expected.view()));
      relayed += world.passed > 0;
    }
    BOOST_TEST(relayed == kMembers - 2u);
  }
}

BOOST_AUTO_TEST_CASE(who_cannot_be_reached_is_named) {
  const uint32_t a = groups[0][2], b = groups[2][2];
  add_many(kMembers);
  cut(static_cast<uint8_t>(a), static_cast<uint8_t>(b));
  auto asks = start_but();
  system.advance(4s);
  size_t named = 0;
  for (uint32_t i = 0; i < kMembers; ++i) {
    const auto outcome = asks[i]->answer();
    BOOST_TEST(!outcome.value);
    if (outcome.unreached.empty()) continue;
    ++named;
    const uint32_t other = i == a ? b : a;
    BOOST_TEST((i == a || i == b));
    BOOST_TEST((outcome.unreached == std::vector<uint32_t>{other}));
  }
  BOOST_TEST(named > 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
