// All-reduce in two levels, without actors.
#include "actors/averaging/two_level_reduce.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <string>

#include "routing/averaging/two_level_plan.h"
#include "tests/support/codecs.h"
#include "tests/support/member_rounds.h"

namespace swarm::actors {
namespace {

using testing::Exchange;
using testing::exchange_of;
using testing::floats_of;
using testing::StageMembers;

AllReduceSetup setup_of(tensor::Codec codec = tensor::Codec::kNone) {
  return {Topology::kTwoLevel, codec, /*chunk_elements=*/64, /*min_part_elements=*/4};
}

StageMembers equal_stage(size_t members, uint64_t n) {
  StageMembers stage;
  stage.n = n;
  stage.samples.assign(members, 3);
  stage.draw(members);
  return stage;
}

/// The bits that all have.
Buffer the_mean(Exchange& exchange) {
  exchange.run();
  BOOST_REQUIRE(exchange.complete() == exchange.size());
  const Buffer mean = exchange.side(0).result();
  for (size_t i = 0; i < exchange.size(); ++i) {
    BOOST_TEST((exchange.side(i).result().view() == mean.view()));
    BOOST_TEST(exchange.side(i).waiting_for() == "nobody");
  }
  return mean;
}

BOOST_AUTO_TEST_SUITE(TwoLevelReduceTest)

BOOST_AUTO_TEST_CASE(members_of_any_number_and_codec_end_with_the_same_bits_of_the_mean) {
  for (const auto codec : testing::all_codecs())
    for (size_t members = 1; members <= 40; ++members)
      for (const uint64_t n : {uint64_t{1}, uint64_t{13}, 40 + 17 * members}) {
        StageMembers stage;
        stage.n = n;
        for (size_t i = 0; i < members; ++i) stage.samples.push_back((i * 7 + members) % 4);
        stage.samples[members / 2] = 5;
        stage.round = Round(members + n);
        stage.draw(members);
        BOOST_TEST_CONTEXT(members << " members, " << n << " elements, codec "
                                   << tensor::codec_info(codec).name) {
          auto first = exchange_of(stage, setup_of(codec), /*seed=*/1);
          const Buffer mean = the_mean(first);
          BOOST_TEST(stage.worst_error(mean) < testing::mean_tolerance(codec));
          auto again = exchange_of(stage, setup_of(codec), /*seed=*/2, /*window=*/1);
          BOOST_TEST((the_mean(again).view() == mean.view()));  // whatever comes first
        }
      }
}

BOOST_AUTO_TEST_CASE(parts_are_by_weight_and_who_has_none_gets_the_mean) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    StageMembers stage;
    stage.n = 1 + random() % 3'000;
    stage.round = Round(1 + random() % 1'000);
    for (size_t i = 0, members = 2 + random() % 39; i < members; ++i) {
      stage.samples.push_back(random() % 3);
      stage.weights.push_back(static_cast<uint32_t>(random() % 2 * (random() % 1'000)));
    }
    stage.samples.back() = 1;
    stage.draw(seed);
    BOOST_TEST_CONTEXT("seed " << seed) {
      auto exchange = exchange_of(stage, setup_of(), seed, 1 + seed % 4);
      BOOST_TEST(stage.worst_error(the_mean(exchange)) < 1e-5);
      const bool any = std::any_of(stage.weights.begin(), stage.weights.end(),
                                   [](uint32_t one) { return one > 0; });
      for (uint32_t i = 1; any && i < stage.samples.size(); ++i)
        if (stage.weights[i] == 0) BOOST_TEST(exchange.side(0).requests_to(i) == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(nobody_with_samples_gives_zeros) {
  StageMembers stage;
  stage.n = 100;
  stage.samples.assign(20, 0);
  stage.sums.resize(20);
  std::vector<std::unique_ptr<AllReduce>> sides;
  for (uint32_t i = 0; i < 20; ++i) {
    auto spec = stage.of(i);
    spec.total_samples = 1;
    sides.push_back(make_all_reduce(setup_of(), spec));
  }
  Exchange exchange(std::move(sides), 1, 2);
  for (const float x : floats_of(the_mean(exchange))) BOOST_TEST(x == 0);
}

BOOST_AUTO_TEST_CASE(a_member_talks_to_few_and_says_little) {
  auto stage = equal_stage(25, 25 * 64);
  auto two = exchange_of(stage, {Topology::kTwoLevel, tensor::Codec::kNone, 1'000, 4});
  auto direct = exchange_of(stage, {Topology::kButterfly, tensor::Codec::kNone, 1'000, 4});
  the_mean(two);
  the_mean(direct);
  BOOST_TEST(direct.messages() == 25u * 24);
  BOOST_TEST(two.messages() == 25u * 8);
  for (size_t i = 0; i < 25; ++i) {
    size_t asked = 0;
    for (uint32_t j = 0; j < 25; ++j) asked += two.side(i).requests_to(j) > 0;
    BOOST_TEST(asked == 8u);  // 4 in its group, 4 tops
  }
}

BOOST_AUTO_TEST_CASE(beyond_16_members_it_is_chosen) {
  for (const size_t members : {16, 17}) {
    auto stage = equal_stage(members, 5'000);
    auto setup = setup_of();
    setup.topology = Topology::kAuto;
    auto exchange = exchange_of(stage, setup);
    size_t asked = 0;
    for (uint32_t j = 0; j < members; ++j) asked += exchange.side(0).requests_to(j) > 0;
    BOOST_TEST((asked == members - 1) == (members == 16));
    BOOST_TEST(stage.worst_error(the_mean(exchange)) < 1e-5);
  }
}

// ---- vectors that count by samples ----------------------------------------------------------

StageMembers trained_stage(size_t members, const std::vector<TrainedOn>& trained) {
  StageMembers stage;
  stage.n = 300;
  stage.samples.assign(members, 1);
  stage.trained = trained;
  stage.draw(members);
  return stage;
}

BOOST_AUTO_TEST_CASE(vectors_count_by_samples_since_a_common_average) {
  std::vector<TrainedOn> trained;
  std::vector<double> factors;
  double all = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    trained.push_back({i % 4 == 0 ? 0 : i * i, Round(3)});
    all += static_cast<double>(trained.back().samples);
  }
  for (const auto& one : trained) factors.push_back(static_cast<double>(one.samples) / all);
  const auto stage = trained_stage(20, trained);
  auto exchange = exchange_of(stage, setup_of());
  BOOST_TEST(stage.worst_error(the_mean(exchange), factors) < 1e-5);
}

BOOST_AUTO_TEST_CASE(one_that_alone_has_trained_gives_its_own_bits) {
  std::vector<TrainedOn> trained(20, TrainedOn{0, Round(3)});
  trained[13].samples = 8;
  const auto stage = trained_stage(20, trained);
  auto exchange = exchange_of(stage, setup_of());
  BOOST_TEST((floats_of(the_mean(exchange)) == stage.sums[13]));
}

// In whichever group the one is that builds on something else: the others' groups agree among themselves.
BOOST_AUTO_TEST_CASE(without_a_common_average_all_count_equally) {
  const std::vector<double> equal(20, 1.0 / 20);
  for (size_t odd = 0; odd < 20; ++odd) {
    std::vector<TrainedOn> trained;
    for (uint64_t i = 0; i < 20; ++i) trained.push_back({10 + i, Round(3)});
    trained[odd].average = Round(2);
    const auto stage = trained_stage(20, trained);
    auto exchange = exchange_of(stage, setup_of());
    BOOST_TEST(stage.worst_error(the_mean(exchange), equal) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(whose_state_came_from_elsewhere_counts_for_nothing_beside_those_that_agree) {
  for (size_t odd = 0; odd < 20; ++odd) {
    std::vector<TrainedOn> trained(20, TrainedOn{10, Round(3)});
    trained[odd].average = TrainedOn::kNotKnown;
    std::vector<double> factors(20, 1.0 / 19);
    factors[odd] = 0;
    const auto stage = trained_stage(20, trained);
    auto exchange = exchange_of(stage, setup_of());
    BOOST_TEST(stage.worst_error(the_mean(exchange), factors) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(groups_that_each_agree_on_another_average_count_equally) {
  const auto groups = routing::plan_groups(std::vector<uint32_t>(20, 1));
  std::vector<TrainedOn> trained(20);
  for (size_t g = 0; g < groups.size(); ++g)
    for (const uint32_t member : groups[g]) trained[member] = {member * member, Round(3 + g % 2)};
  const auto stage = trained_stage(20, trained);
  auto exchange = exchange_of(stage, setup_of());
  BOOST_TEST(stage.worst_error(the_mean(exchange), std::vector<double>(20, 0.05)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(where_nobody_has_trained_all_count_equally) {
  const auto stage = trained_stage(20, std::vector<TrainedOn>(20, TrainedOn{0, Round(3)}));
  auto exchange = exchange_of(stage, setup_of());
  BOOST_TEST(stage.worst_error(the_mean(exchange), std::vector<double>(20, 0.05)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(nobody_counts_for_more_samples_than_there_were) {
  std::vector<TrainedOn> trained(20, TrainedOn{20, Round(3)});
  trained[4].samples = std::numeric_limits<uint64_t>::max();
  auto stage = trained_stage(20, trained);
  stage.most_samples = 20;
  auto exchange = exchange_of(stage, setup_of());
  BOOST_TEST(stage.worst_error(the_mean(exchange), std::vector<double>(20, 0.05)) < 1e-5);
}

// ---- who is missing ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_dead_member_keeps_all_from_the_mean_and_its_group_names_it) {
  for (uint32_t dead = 0; dead < 20; ++dead) {
    auto stage = equal_stage(20, 2'000);
    auto exchange = exchange_of(stage, setup_of());
    exchange.kill(dead);
    exchange.run();
    BOOST_TEST(exchange.complete() == 0u);
    const auto groups = routing::plan_groups(std::vector<uint32_t>(20, 1));
    const std::string name = stage.of(0).members[dead].averager.brief();
    for (const auto& group : groups) {
      const bool of_it = std::find(group.begin(), group.end(), dead) != group.end();
      for (const uint32_t member : group) {
        if (member == dead) continue;
        auto& side = exchange.side(member);
        for (uint32_t i = 0; i < 20; ++i) BOOST_TEST(side.nothing_from(i) == (of_it && i == dead));
        if (of_it) BOOST_TEST(side.waiting_for().rfind(name + " (", 0) == 0u, side.waiting_for());
        if (of_it) BOOST_TEST(side.waiting_for().find("), ") == std::string::npos);
        if (!of_it) BOOST_TEST(side.waiting_for() != "nobody");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_group_without_samples_waits_for_nobody_of_its_own) {
  const auto groups = routing::plan_groups(std::vector<uint32_t>(20, 1));
  auto stage = equal_stage(20, 2'000);
  for (const uint32_t member : groups[1]) stage.samples[member] = 0;
  stage.draw(5);
  auto side = make_all_reduce(setup_of(), stage.of(groups[1][0]));
  for (const uint32_t member : groups[1]) BOOST_TEST(!side->nothing_from(member));
  for (const uint32_t member : groups[2])
    if (side->requests_to(member) > 0) BOOST_TEST(side->ready(member, 0));
  auto exchange = exchange_of(stage, setup_of());
  BOOST_TEST(stage.worst_error(the_mean(exchange)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(a_request_to_another_group_is_ready_when_the_own_groups_numbers_are_in) {
  auto stage = equal_stage(20, 2'000);
  const auto groups = routing::plan_groups(std::vector<uint32_t>(20, 1));
  const uint32_t self = groups[0][0];
  auto side = make_all_reduce(setup_of(), stage.of(self));
  for (uint32_t i = 0; i < 20; ++i) {
    if (side->requests_to(i) == 0) continue;
    const bool own = std::count(groups[0].begin(), groups[0].end(), i) > 0;
    BOOST_TEST(side->ready(i, 0) == own);
  }
  size_t ready = 0;
  for (const uint32_t member : groups[0]) {
    if (member == self) continue;
    const auto other = make_all_reduce(setup_of(), stage.of(member));
    for (size_t number = 0; number < other->requests_to(self); ++number) {
      const auto out = other->request(self, number);
      BOOST_REQUIRE(side->contribute(out.head, out.body).ok());
    }
  }
  for (const uint32_t member : groups[1])
    for (size_t number = 0; number < side->requests_to(member); ++number)
      ready += side->ready(member, number);
  BOOST_TEST(ready > 0u);
}

// ---- what strangers say -------------------------------------------------------------------------

/// A part that has been changed in one or two places; not always for the worse.
proto::AveragePart changed(proto::AveragePart head, std::mt19937_64& random) {
  const int64_t extents[] = {0, -1, 1, 64, int64_t{1} << 40, std::numeric_limits<int64_t>::max()};
  for (int changes = 1 + static_cast<int>(random() % 2); changes > 0; --changes)
    switch (random() % 8) {
      case 0:
        head.set_sender(static_cast<uint32_t>(random() % 30));
        break;
      case 1:
        head.set_sender(static_cast<uint32_t>(random()));
        break;
      case 2:
        head.set_offset(random() % 2'500);
        break;
      case 3:
        head.set_offset(random());
        break;
      case 4:
        head.mutable_chunk()->clear_shape();
        break;
      case 5:
        head.mutable_chunk()->add_shape(extents[random() % 6]);
        break;
      case 6:
        head.mutable_chunk()->set_codec(static_cast<proto::Codec>(random() % 9));
        break;
      default:
        head.clear_chunk();
        break;
    }
  return head;
}

BOOST_AUTO_TEST_CASE(malformed_parts_are_refused_or_change_nothing_but_numbers) {
  auto stage = equal_stage(20, 2'000);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    auto exchange = exchange_of(stage, setup_of(), seed);
    auto& victim = exchange.side(random() % 20);
    size_t refused = 0;
    exchange.run(static_cast<int>(random() % 4));
    for (int i = 0; i < 40; ++i) {
      const auto by = static_cast<uint32_t>(random() % 20);
      const auto to = victim.spec().self;
      auto& side = exchange.side(by);
      if (side.requests_to(to) == 0 || !side.ready(to, 0)) continue;
      auto out = side.request(to, random() % side.requests_to(to));
      if (random() % 3 == 0) out.body = out.body.slice(0, random() % (out.body.size() + 1));
      const auto answer = victim.contribute(changed(out.head, random), out.body);
      if (answer.ok()) (void)victim.answerable(*answer);
      refused += !answer.ok();
      if (!answer.ok())
        BOOST_TEST((answer.code() == ErrorCode::kInvalidArgument ||
                    answer.code() == ErrorCode::kShapeMismatch));
    }
    BOOST_TEST(refused > 0u);
    exchange.run();  // whoever was taken at a stranger's word, nobody hangs
    BOOST_TEST(exchange.complete() == 20u);
  }
}

BOOST_AUTO_TEST_CASE(malformed_means_are_refused) {
  auto stage = equal_stage(20, 2'000);
  auto one = make_all_reduce(setup_of(), stage.of(0));
  auto exchange = exchange_of(stage, setup_of());
  exchange.run();
  for (uint32_t of = 1; of < 20; ++of) {
    if (one->requests_to(of) == 0) continue;
    const auto asked = exchange.side(0).request(of, 0);
    const auto number = exchange.side(of).contribute(asked.head, asked.body);
    const auto good = exchange.side(of).answer(*number);
    for (int change = 0; change < 5; ++change) {
      auto bad = good;
      if (change == 0) bad.data = bad.data.slice(0, bad.data.size() - 4);
      if (change == 1) bad.meta.set_shape(0, bad.meta.shape(0) + 1);
      if (change == 2) bad.meta.set_codec(static_cast<proto::Codec>(77));
      if (change == 3) bad.meta.set_dtype(proto::DTYPE_INT64);
      if (change == 4) bad.meta.clear_shape();
      BOOST_TEST(!one->take_answer(of, 0, bad).ok());
    }
  }
}

BOOST_AUTO_TEST_CASE(who_does_not_reduce_a_piece_may_not_sum_for_its_group) {
  auto stage = equal_stage(20, 2'000);
  const auto groups = routing::plan_groups(std::vector<uint32_t>(20, 1));
  auto exchange = exchange_of(stage, setup_of());
  exchange.run();
  const uint32_t self = groups[0][0], right = groups[1][0];
  BOOST_REQUIRE(exchange.side(right).requests_to(self) > 0u);
  auto out = exchange.side(right).request(self, 0);
  out.head.set_sender(groups[1][2]);
  BOOST_TEST(
      (exchange.side(self).contribute(out.head, out.body).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(memory_of_an_earlier_round_is_used_if_nobody_reads_it) {
  auto stage = equal_stage(1, 200);
  auto first = make_all_reduce(setup_of(), stage.of(0));
  const void* place = first->result().data();
  auto second = make_all_reduce(setup_of(), stage.of(0), first->take_memory());
  BOOST_TEST(second->result().data() == place);
  const Buffer read = second->result();
  BOOST_TEST(!second->take_memory().owner());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
