// Numbers that are not finite end a round, and whose they are is said.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <memory>

#include "tests/support/averagers.h"
#include "tests/support/codecs.h"

namespace swarm::actors {
namespace {

using testing::Ask;
using testing::World;

/// All vectors are ones, but for one element of one member.
struct WrongRound {
  World world;
  uint64_t n = 203;
  uint8_t members;
  tensor::Codec codec;

  WrongRound(uint8_t count, tensor::Codec used, Topology topology = Topology::kAuto)
      : members(count), codec(used) {
    auto options = World::small_chunks();
    options.codec = codec;
    options.topology = topology;
    world.add_many(count, options);
  }
  AverageRound spec(uint32_t self, uint32_t wrong, uint64_t element, float value) {
    AverageRound round;
    round.round = Round(1);
    for (uint8_t i = 0; i < members; ++i) round.members.push_back(world.member(i, 2));
    round.self = self;
    std::vector<float> values(n, 1.0f);
    if (self == wrong) values[element] = value;
    round.gradient = Buffer::from_string(
        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    round.n = n;
    round.total_samples = uint64_t{2} * members;
    return round;
  }
  /// Whom the members name; nobody may have an average.
  std::set<uint32_t> named(uint32_t wrong, uint64_t element, float value) {
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
    for (uint32_t i = 0; i < members; ++i)
      asks.push_back(std::make_unique<Ask<AverageResult>>(
          *world.system, world.averagers[i], average_atom::value, spec(i, wrong, element, value)));
    world.system.run();
    std::set<uint32_t> names;
    size_t averaged = 0;
    for (auto& ask : asks) {
      if (!ask->answered()) continue;
      auto outcome = ask->answer();
      averaged += outcome.value.has_value();
      names.insert(outcome.not_finite.begin(), outcome.not_finite.end());
    }
    BOOST_TEST(averaged < members);  // who has its part already may; the coordinator needs all
    return names;
  }
};

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

BOOST_AUTO_TEST_SUITE(averages_that_are_not_finite)

BOOST_AUTO_TEST_CASE(the_member_that_brought_them_is_named_whoever_adds_them_up) {
  for (const auto codec : testing::all_codecs())
    for (const float value : {kInf, kNan, -kInf})
      for (uint32_t wrong = 0; wrong < 3; ++wrong)
        for (const uint64_t element : {0, 101, 202}) {
          WrongRound round(3, codec);
          BOOST_TEST((round.named(wrong, element, value) == std::set<uint32_t>{wrong}));
        }
}

BOOST_AUTO_TEST_CASE(so_it_is_in_two_levels) {
  for (uint32_t wrong = 0; wrong < 7; ++wrong)
    for (const uint64_t element : {0, 101, 202}) {
      WrongRound round(7, tensor::Codec::kNone, Topology::kTwoLevel);
      BOOST_TEST((round.named(wrong, element, kNan) == std::set<uint32_t>{wrong}));
    }
}

BOOST_AUTO_TEST_CASE(what_a_codec_cannot_carry_is_named_as_well) {
  WrongRound round(2, tensor::Codec::kFp16);
  for (const uint64_t element : {0, 202}) {
    WrongRound other(2, tensor::Codec::kFp16);
    auto names = other.named(0, element, 1e6f);
    for (uint32_t name : names) BOOST_TEST(name < 2u);
    BOOST_TEST(!names.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_sum_that_overflows_names_all_that_went_into_it) {
  WrongRound round(2, tensor::Codec::kNone);
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
  for (uint32_t i = 0; i < 2; ++i)
    asks.push_back(
        std::make_unique<Ask<AverageResult>>(*round.world.system, round.world.averagers[i],
                                             average_atom::value, round.spec(i, i, 0, kLargest)));
  round.world.system.run();
  std::set<uint32_t> names;
  for (auto& ask : asks) {
    const auto outcome = ask->answer();
    names.insert(outcome.not_finite.begin(), outcome.not_finite.end());
  }
  BOOST_TEST((names == std::set<uint32_t>{0, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
