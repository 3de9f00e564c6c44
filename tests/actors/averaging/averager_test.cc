#include "actors/averaging/averager.h"

#include <boost/test/unit_test.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <cstring>
#include <memory>
#include <random>

#include "tensor/core/codec.h"
#include "tensor/core/flat.h"
#include "tests/support/averagers.h"
#include "tests/support/codecs.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using sim::Fate;
using testing::Ask;
using testing::id_of;
using testing::Outcome;
using testing::World;

Buffer floats(const std::vector<float>& values) {
  return Buffer::from_string(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::vector<float> values_of(const Buffer& buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

/// A round over random gradients.
struct RandomRound {
  World& world;
  uint64_t n;
  std::vector<uint64_t> samples;
  std::vector<std::vector<float>> sums;
  Round id = Round(1);
  uint64_t total = 0;

  RandomRound(World& w, uint64_t elements, std::vector<uint64_t> member_samples)
      : world(w), n(elements), samples(std::move(member_samples)) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto count : samples) {
      std::vector<float> sum(count > 0 ? n : 0);
      for (auto& x : sum) x = normal(random) * static_cast<float>(count);
      sums.push_back(sum);
      total += count;
    }
  }
  AverageRound spec(uint32_t self) const {
    AverageRound round;
    round.round = id;
    for (size_t i = 0; i < samples.size(); ++i)
      round.members.push_back(world.member(static_cast<uint8_t>(i), samples[i]));
    round.self = self;
    round.gradient = floats(sums[self]);
    round.n = n;
    round.total_samples = total;
    return round;
  }
  std::unique_ptr<Ask<AverageResult>> start(uint32_t self) const {
    return std::make_unique<Ask<AverageResult>>(*world.system, world.averagers[self],
                                                average_atom::value, spec(self));
  }
  std::vector<Outcome<AverageResult>> run() const {
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
    for (uint32_t i = 0; i < samples.size(); ++i) asks.push_back(start(i));
    world.system.run();
    std::vector<Outcome<AverageResult>> outcomes;
    for (auto& ask : asks) outcomes.push_back(ask->answer());
    return outcomes;
  }
  double worst_error(const Buffer& mean) const {
    auto got = values_of(mean);
    double worst = 0;
    for (uint64_t e = 0; e < n; ++e) {
      double sum = 0;
      for (auto& one : sums) sum += one.empty() ? 0.0 : one[e];
      worst = std::max(worst, std::abs(sum / static_cast<double>(total) - got[e]));
    }
    return worst;
  }
};

BOOST_AUTO_TEST_SUITE(averager)

BOOST_AUTO_TEST_CASE(members_of_any_number_and_codec_get_the_same_bits_of_the_mean) {
  for (const auto codec : testing::all_codecs())
    for (auto samples : std::vector<std::vector<uint64_t>>{
             {5}, {3, 9}, {1, 2, 3}, {0, 4, 7}, {8, 0}, {0, 0, 6}, {2, 5, 1, 9}, {0, 3, 0, 3}}) {
      World world;
      auto options = World::small_chunks();
      options.codec = codec;
      world.add_many(static_cast<uint8_t>(samples.size()), options);
      RandomRound round(world, 1'003, samples);
      auto outcomes = round.run();
      BOOST_REQUIRE(outcomes[0].value);
      auto& first = *outcomes[0].value;
      BOOST_TEST(round.worst_error(first.mean) < testing::mean_tolerance(codec));
      BOOST_TEST(first.digest == tensor::digest(first.mean.data(), first.mean.size()));
      BOOST_TEST(first.squared_norm > 0);
      for (auto& outcome : outcomes) {
        BOOST_REQUIRE(outcome.value);
        BOOST_TEST((outcome.value->mean.view() == first.mean.view()));
        BOOST_TEST(outcome.value->squared_norm == first.squared_norm);
        BOOST_TEST(outcome.value->digest == first.digest);
      }
    }
}

BOOST_AUTO_TEST_CASE(vectors_smaller_than_the_number_of_members_are_averaged) {
  World world;
  world.add_many(4);
  for (uint64_t n : {1, 3}) {
    RandomRound round(world, n, {1, 2, 0, 4});
    round.id = Round(n);
    for (auto& outcome : round.run()) {
      BOOST_REQUIRE(outcome.value);
      BOOST_TEST(round.worst_error(outcome.value->mean) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_in_the_round_fails_it_everywhere_and_nothing_is_left) {
  for (int deaths_at : {0, 1, 7, 20, 60}) {
    World world;
    world.add_many(3);
    RandomRound round(world, 3'000, {1, 1, 1});
    int mails = 0;
    world.network.set_filter([&](const NodeId& from, const ActorId&, const Mail&) {
      return from == id_of(2) && mails++ >= deaths_at ? Fate::kDrop : Fate::kDeliver;
    });
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
    std::vector<Buffer> gradients;
    for (uint32_t i = 0; i < 3; ++i) asks.push_back(round.start(i));
    world.system.run();
    world.network.kill(id_of(2));
    world.system.run();
    for (uint32_t i = 0; i < 2; ++i) {
      auto outcome = asks[i]->answer();
      BOOST_TEST(!outcome.value);
      BOOST_TEST((outcome.code == ErrorCode::kLinkLost || outcome.code == ErrorCode::kCancelled),
                 outcome.detail);
      BOOST_TEST(world.describe(i).find("idle") != std::string::npos);
      BOOST_TEST(world.describe(i).find("early parts 0 (0 bytes)") != std::string::npos);
    }
    world.network.set_filter(nullptr);
    RandomRound again(world, 3'000, {1, 1});
    again.id = Round(2);
    for (auto& outcome : again.run()) {
      BOOST_REQUIRE(outcome.value);
      BOOST_TEST(again.worst_error(outcome.value->mean) < 1e-5);
    }
  }
}

/// Members `a` and `b` reach each other only through `via`.
std::vector<Outcome<AverageResult>> run_relayed(World& world, const RandomRound& round, uint32_t a,
                                                uint32_t b, uint32_t via) {
  google::protobuf::RepeatedPtrField<proto::PartRelay> relays;
  auto* relay = relays.Add();
  relay->set_a(a);
  relay->set_b(b);
  relay->set_via(via);
  std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
  for (uint32_t i = 0; i < round.samples.size(); ++i) {
    auto spec = round.spec(i);
    BOOST_REQUIRE(add_relays(relays, i, spec.members).ok());
    asks.push_back(std::make_unique<Ask<AverageResult>>(*world.system, world.averagers[i],
                                                        average_atom::value, spec));
  }
  world.system.run();
  std::vector<Outcome<AverageResult>> outcomes;
  for (auto& ask : asks) outcomes.push_back(ask->answer());
  return outcomes;
}

BOOST_AUTO_TEST_CASE(a_relay_changes_no_bit_of_the_mean) {
  for (auto codec : testing::all_codecs())
    for (auto samples : std::vector<std::vector<uint64_t>>{{1, 2, 3}, {0, 4, 7}, {2, 5, 1, 9}}) {
      auto options = World::small_chunks();
      options.codec = codec;
      World direct, gap;
      for (World* world : {&direct, &gap})
        world->add_many(static_cast<uint8_t>(samples.size()), options);
      const RandomRound plain(direct, 1'003, samples), round(gap, 1'003, samples);
      const auto expected = plain.run();
      size_t passed = 0;
      gap.network.set_filter([&](const NodeId& from, const ActorId& to, const Mail& mail) {
        const bool cut =
            (from == id_of(0) && to.node == id_of(2)) || (from == id_of(2) && to.node == id_of(0));
        if (mail.kind == proto::KIND_AVERAGE_PART)
          passed += mail.as<proto::AveragePart>().relay_to() != 0 ? 1 : 0;
        return cut ? Fate::kLinkLost : Fate::kDeliver;
      });
      const auto outcomes = run_relayed(gap, round, 0, 2, 1);
      BOOST_TEST(passed > 0u);
      for (size_t i = 0; i < outcomes.size(); ++i) {
        BOOST_REQUIRE_MESSAGE(outcomes[i].value, outcomes[i].detail);
        BOOST_TEST((outcomes[i].value->mean.view() == expected[i].value->mean.view()));
      }
    }
}

// The first one won: a gradient of anybody's choice, and all digests agreed.
BOOST_AUTO_TEST_CASE(a_part_in_the_name_of_another_member_is_refused) {
  World world;
  world.add_many(2, World::small_chunks());
  RandomRound round(world, 64, {3, 9});
  auto first = round.start(0);
  world.system.run();
  proto::AveragePart head;
  head.set_round(1);
  head.set_sender(1);
  const Buffer zeros = floats(std::vector<float>(32, 0));
  *head.mutable_chunk() = tensor::encode(zeros, {32}, tensor::Codec::kNone).meta;
  Mail forged = make_mail(head, zeros);
  forged.from = id_of(5);
  Ask<Mail> ask(*world.system, world.averagers[0], forged);
  world.system.run();
  BOOST_TEST((ask.answer().code == ErrorCode::kRefused));
  auto second = round.start(1);
  world.system.run();
  auto outcome = first->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST(round.worst_error(outcome.value->mean) < 1e-5);
  BOOST_TEST(second->answer().value.has_value());
}

BOOST_AUTO_TEST_CASE(who_cannot_be_reached_is_named) {
  World world;
  world.add_many(3);
  world.network.set_filter([&](const NodeId& from, const ActorId& to, const Mail&) {
    const bool cut =
        (from == id_of(0) && to.node == id_of(2)) || (from == id_of(2) && to.node == id_of(0));
    return cut ? Fate::kLinkLost : Fate::kDeliver;
  });
  RandomRound round(world, 3'000, {1, 1, 1});
  const auto outcomes = round.run();
  BOOST_TEST((outcomes[0].unreached == std::vector<uint32_t>{2}));
  BOOST_TEST(!outcomes[1].value);
  BOOST_TEST(outcomes[1].unreached.empty());  // it reaches both, and blames nobody
}

BOOST_AUTO_TEST_CASE(a_relay_that_loses_its_own_way_is_named_by_itself) {
  World world;
  world.add_many(3);
  world.network.set_filter([&](const NodeId& from, const ActorId& to, const Mail&) {
    const bool to_last = to.node == id_of(2) || from == id_of(2);
    return to_last && from != to.node ? Fate::kLinkLost : Fate::kDeliver;
  });
  RandomRound round(world, 3'000, {1, 1, 1});
  const auto outcomes = run_relayed(world, round, 0, 2, 1);
  BOOST_TEST(outcomes[0].unreached.empty());
  BOOST_TEST((outcomes[1].unreached == std::vector<uint32_t>{2}));
}

BOOST_AUTO_TEST_CASE(relays_that_make_no_sense_are_refused) {
  World world;
  world.add_many(3);
  RandomRound round(world, 100, {1, 1, 1});
  const std::vector<std::vector<uint32_t>> bad{
      {0, 1, 3}, {0, 3, 1}, {0, 0, 1}, {0, 1, 1}, {1, 2, 1}};
  for (const auto& one : bad) {
    google::protobuf::RepeatedPtrField<proto::PartRelay> relays;
    auto* relay = relays.Add();
    relay->set_a(one[0]);
    relay->set_b(one[1]);
    relay->set_via(one[2]);
    auto members = round.spec(0).members;
    BOOST_TEST((add_relays(relays, 0, members).code() == ErrorCode::kInvalidArgument));
  }
}

BOOST_AUTO_TEST_CASE(a_failed_round_lets_go_of_the_gradient) {
  World world;
  world.add_many(2);
  RandomRound round(world, 500, {1, 1});
  auto spec = round.spec(0);
  std::weak_ptr<const void> memory = spec.gradient.owner();
  {
    Ask<AverageResult> ask(*world.system, world.averagers[0], average_atom::value, spec);
    spec = {};
    world.system.run();
    BOOST_TEST(!memory.expired());
    world.network.kill(id_of(1));
    world.system.run();
    BOOST_TEST(int(ask.answer().code) == int(ErrorCode::kLinkLost));
  }
  world.system.advance(60s);
  BOOST_TEST(memory.expired());
}

BOOST_AUTO_TEST_CASE(a_late_start_is_waited_for) {
  World world;
  world.add_many(3);
  RandomRound round(world, 2'000, {1, 2, 3});
  auto first = round.start(0);
  auto second = round.start(1);
  world.system.advance(1500ms);
  BOOST_TEST(!first->answered());
  auto third = round.start(2);
  world.system.advance(200ms);
  auto outcome = first->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST(round.worst_error(outcome.value->mean) < 1e-5);
  BOOST_TEST(second->answer().value->digest == outcome.value->digest);
  BOOST_TEST(third->answer().value->digest == outcome.value->digest);
}

BOOST_AUTO_TEST_CASE(a_silent_member_is_waited_for_no_longer_than_earlier_rounds_justify) {
  World world;
  world.add_many(2);
  RandomRound round(world, 500, {1, 1});
  for (round.id = Round(1); round.id <= Round(3); ++round.id)
    for (auto& outcome : round.run()) BOOST_REQUIRE(outcome.value);
  auto ask = round.start(0);
  world.system.run();
  world.system.advance(700ms);
  BOOST_TEST(!ask->answered());
  world.system.advance(100ms);
  BOOST_REQUIRE(ask->answered());
  BOOST_TEST((ask->answer().code == ErrorCode::kPeerTimeout));
}

BOOST_AUTO_TEST_CASE(the_first_round_is_given_the_time_that_its_size_takes_on_a_slow_link) {
  World world;
  auto options = World::small_chunks();
  options.chunk_elements = 1 << 20;
  world.add_many(2, options);
  RandomRound round(world, 25'000'000, {0, 1});  // 100 MB, 16 s at 100 Mb/s up and down
  auto ask = round.start(0);
  world.system.run();
  world.system.advance(15'900ms);
  BOOST_TEST(!ask->answered());
  world.system.advance(200ms);
  BOOST_REQUIRE(ask->answered());
  BOOST_TEST((ask->answer().code == ErrorCode::kPeerTimeout));
}

BOOST_AUTO_TEST_CASE(memory_of_a_result_is_used_again_only_when_nobody_reads_it) {
  World world;
  world.add_many(2);
  RandomRound round(world, 500, {1, 1});
  const uint8_t* first = nullptr;
  {
    auto outcomes = round.run();
    first = outcomes[0].value->mean.data();
  }
  round.id = Round(2);
  auto kept = round.run();
  BOOST_TEST(kept[0].value->mean.data() == first);
  const std::string bits(kept[0].value->mean.view());
  round.id = Round(3);
  for (auto& sum : round.sums)
    for (auto& x : sum) x += 1;
  auto third = round.run();
  BOOST_TEST(third[0].value->mean.data() != first);
  BOOST_TEST((kept[0].value->mean.view() == bits));
  BOOST_TEST(round.worst_error(third[0].value->mean) < 1e-5);
}

BOOST_AUTO_TEST_CASE(a_member_that_never_starts_ends_the_round_at_its_deadline) {
  World world;
  world.add_many(2);
  RandomRound round(world, 200, {1, 1});
  auto ask = round.start(0);
  world.system.advance(2'900ms);
  BOOST_TEST(!ask->answered());
  world.system.advance(200ms);
  auto outcome = ask->answer();
  BOOST_TEST(int(outcome.code) == int(ErrorCode::kPeerTimeout));
  BOOST_TEST(world.describe(1).find("early parts 0 (0 bytes)") != std::string::npos);
  auto late = round.start(1);  // must not hang either
  world.system.advance(4s);
  BOOST_TEST(int(late->answer().code) == int(ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(abandoning_answers_both_sides_and_makes_late_parts_stale) {
  World world;
  world.add_many(2);
  RandomRound round(world, 2'000, {1, 1});
  auto ask = round.start(0);
  world.system.run();
  caf::anon_send(world.averagers[0], abandon_atom::value, Round(1));
  world.system.run();
  BOOST_TEST(int(ask->answer().code) == int(ErrorCode::kCancelled));
  auto other = round.start(1);
  world.system.run();
  BOOST_TEST(int(other->answer().code) == int(ErrorCode::kStaleStep));
  auto again = round.start(0);
  world.system.run();
  BOOST_TEST(int(again->answer().code) == int(ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(too_many_early_parts_are_refused_and_sent_again) {
  World world;
  world.add(world.deps(0, World::small_chunks()));
  auto tight = world.deps(1, World::small_chunks());
  tight.max_held_bytes = 700;  // one part
  world.add(tight);
  RandomRound round(world, 2'000, {1, 1});
  auto first = round.start(0);
  world.system.advance(500ms);
  auto second = round.start(1);
  world.system.advance(100ms);
  BOOST_TEST(round.worst_error(first->answer().value->mean) < 1e-5);
  BOOST_TEST(bool(second->answer().value));
}

BOOST_AUTO_TEST_CASE(malformed_parts_are_refused_and_do_no_harm) {
  World world;
  world.add_many(2);
  RandomRound round(world, 640, {1, 1});  // parts of 320, ten chunks of 32
  auto ask = round.start(0);
  world.system.run();
  auto send = [&](uint32_t sender, uint64_t offset, int64_t count, size_t bytes, bool chunk) {
    proto::AveragePart part;
    part.set_round(1);
    part.set_sender(sender);
    part.set_offset(offset);
    if (chunk) {
      part.mutable_chunk()->set_dtype(proto::DTYPE_FLOAT32);
      part.mutable_chunk()->set_codec(proto::CODEC_NONE);
      part.mutable_chunk()->add_shape(count);
    }
    Ask<Mail> one(*world.system, world.averagers[0],
                  make_mail(part, Buffer::from_string(std::string(bytes, 'x'))));
    world.system.run();
    return one.answer().code;
  };
  BOOST_TEST(int(send(0, 0, 32, 128, true)) == int(ErrorCode::kInvalidArgument));    // from itself
  BOOST_TEST(int(send(9, 0, 32, 128, true)) == int(ErrorCode::kInvalidArgument));    // nobody
  BOOST_TEST(int(send(1, 5, 32, 128, true)) == int(ErrorCode::kInvalidArgument));    // between
  BOOST_TEST(int(send(1, 320, 32, 128, true)) == int(ErrorCode::kInvalidArgument));  // not mine
  BOOST_TEST(int(send(1, ~0ull, 32, 128, true)) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(send(1, 0, 16, 64, true)) == int(ErrorCode::kShapeMismatch));
  BOOST_TEST(int(send(1, 0, 32, 100, true)) == int(ErrorCode::kShapeMismatch));
  BOOST_TEST(int(send(1, 0, -4, 128, true)) != int(ErrorCode::kNone));
  BOOST_TEST(int(send(1, 0, 0, 0, false)) == int(ErrorCode::kShapeMismatch));
  auto other = round.start(1);
  world.system.run();
  BOOST_TEST(round.worst_error(ask->answer().value->mean) < 1e-5);
  BOOST_TEST(bool(other->answer().value));
}

BOOST_AUTO_TEST_CASE(a_part_sent_again_after_the_round_is_answered_from_the_result) {
  World world;
  world.add_many(2);
  RandomRound round(world, 640, {1, 1});
  auto outcomes = round.run();
  proto::AveragePart part;
  part.set_round(1);
  part.set_sender(1);
  part.set_offset(32);
  auto chunk = floats(std::vector<float>(32, 1e9f));
  part.mutable_chunk()->set_dtype(proto::DTYPE_FLOAT32);
  part.mutable_chunk()->set_codec(proto::CODEC_NONE);
  part.mutable_chunk()->add_shape(32);
  Ask<Mail> ask(*world.system, world.averagers[0], make_mail(part, chunk));
  world.system.run();
  auto reply = ask.answer();
  BOOST_REQUIRE(reply.value);
  BOOST_TEST((reply.value->body.view() == outcomes[0].value->mean.slice(128, 128).view()));
}

BOOST_AUTO_TEST_CASE(bad_rounds_are_refused) {
  World world;
  world.add_many(2);
  RandomRound round(world, 100, {1, 1});
  auto refused = [&](AverageRound spec) {
    Ask<AverageResult> ask(*world.system, world.averagers[0], average_atom::value, spec);
    world.system.run();
    return ask.answer().code;
  };
  auto spec = round.spec(0);
  spec.self = 2;
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
  spec = round.spec(0);
  spec.gradient = floats({1, 2, 3});
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kShapeMismatch));
  spec = round.spec(0);
  spec.total_samples = 0;
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
  spec = round.spec(0);
  spec.members.clear();
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
  spec = round.spec(0);
  spec.members[1] = spec.members[0];
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(ending_the_actor_answers_the_round) {
  World world;
  world.add_many(2);
  RandomRound round(world, 100, {1, 1});
  auto ask = round.start(0);
  world.system.run();
  caf::anon_send_exit(world.averagers[0], caf::exit_reason::user_shutdown);
  world.system.run();
  BOOST_TEST(int(ask->answer().code) == int(ErrorCode::kShuttingDown));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
