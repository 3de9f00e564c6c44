// Topologies without actors: every member's side in one thread, mail handed over by hand.
#include "actors/averaging/all_reduce.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "actors/averaging/direct_reduce.h"
#include "routing/averaging/averaging_plan.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::actors;

namespace {

Buffer floats(const std::vector<float>& values) {
  return Buffer::from_string(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

/// Member i brings samples[i] samples; element e of its sum is samples[i] * (i + e).
AverageRound round_of(uint64_t n, const std::vector<uint64_t>& samples, uint32_t self) {
  AverageRound round;
  round.round = Round(1);
  round.self = self;
  round.n = n;
  for (uint32_t i = 0; i < samples.size(); ++i) {
    round.members.push_back({testing::peer(i + 1, "averager.0"), {}, samples[i]});
    round.total_samples += samples[i];
  }
  if (samples[self] == 0) return round;
  std::vector<float> sum(n);
  for (uint64_t e = 0; e < n; ++e) sum[e] = static_cast<float>(samples[self] * (self + e));
  round.gradient = floats(sum);
  return round;
}

float mean_of(const std::vector<uint64_t>& samples, uint64_t e) {
  double sum = 0, total = 0;
  for (uint64_t i = 0; i < samples.size(); ++i) {
    sum += static_cast<double>(samples[i] * (i + e));
    total += static_cast<double>(samples[i]);
  }
  return static_cast<float>(sum / total);
}

using Members = std::vector<std::unique_ptr<AllReduce>>;

/// All requests that are ready, then all answers that there are, again and again.
void exchange(Members& members) {
  struct Asked {
    uint32_t by, of;
    size_t number, answer;
  };
  std::vector<Asked> asked;
  std::vector<std::vector<size_t>> next(members.size(), std::vector<size_t>(members.size(), 0));
  for (bool more = true; more;) {
    more = false;
    for (uint32_t i = 0; i < members.size(); ++i)
      for (uint32_t j = 0; j < members.size(); ++j)
        for (size_t& number = next[i][j];
             number < members[i]->requests_to(j) && members[i]->ready(j, number); ++number) {
          const auto out = members[i]->request(j, number);
          auto answer = members[j]->contribute(out.head, out.body);
          BOOST_REQUIRE(answer.ok());
          asked.push_back({i, j, number, *answer});
          more = true;
        }
    for (const auto& one : std::exchange(asked, {})) {
      if (!members[one.of]->answerable(one.answer)) {
        asked.push_back(one);
        continue;
      }
      const auto answer = members[one.of]->answer(one.answer);
      BOOST_TEST(members[one.by]->take_answer(one.of, one.number, answer).ok());
      more = true;
    }
  }
}

void expect_the_same_mean(const Members& members, const std::vector<uint64_t>& samples) {
  for (const auto& member : members) {
    BOOST_REQUIRE(member->complete());
    BOOST_TEST(member->waiting_for() == "nobody");
    const Buffer result = member->result();
    BOOST_TEST((result.view() == members[0]->result().view()));
    for (uint64_t e = 0; e < member->spec().n; ++e) {
      float value = 0;
      std::memcpy(&value, result.data() + e * sizeof(float), sizeof value);
      BOOST_TEST(value == mean_of(samples, e), boost::test_tools::tolerance(1e-6f));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AllReduceTest)

BOOST_AUTO_TEST_CASE(members_of_any_topology_end_with_the_same_mean) {
  for (size_t topology = 0; topology < std::size(kTopologyNames); ++topology)
    for (const std::vector<uint64_t>& samples :
         std::vector<std::vector<uint64_t>>{{5}, {1, 1}, {3, 0, 4}, {2, 7, 1, 8, 2}}) {
      Members members;
      for (uint32_t i = 0; i < samples.size(); ++i)
        members.push_back(make_all_reduce(
            {static_cast<Topology>(topology), tensor::Codec::kNone, /*chunk_elements=*/32},
            round_of(200, samples, i)));
      BOOST_TEST_CONTEXT(kTopologyNames[topology] << " of " << samples.size()) {
        exchange(members);
        expect_the_same_mean(members, samples);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_member_may_reduce_everything_or_nothing) {
  const std::vector<uint64_t> samples{1, 2, 3};
  for (const std::vector<routing::Part>& parts :
       std::vector<std::vector<routing::Part>>{{{0, 200}, {200, 0}, {200, 0}},
                                               {{0, 0}, {0, 7}, {7, 193}},
                                               {{0, 100}, {100, 0}, {100, 100}}}) {
    Members members;
    for (uint32_t i = 0; i < samples.size(); ++i)
      members.push_back(std::make_unique<DirectReduce>(
          AllReduceSetup{Topology::kButterfly, tensor::Codec::kNone, 32}, round_of(200, samples, i),
          parts, MutableBuffer()));
    exchange(members);
    expect_the_same_mean(members, samples);
  }
}

BOOST_AUTO_TEST_CASE(a_member_waits_for_whom_it_still_needs) {
  const std::vector<uint64_t> samples{1, 1};
  const AllReduceSetup setup{Topology::kButterfly, tensor::Codec::kNone, 1'000};
  auto a = make_all_reduce(setup, round_of(200, samples, 0));
  auto b = make_all_reduce(setup, round_of(200, samples, 1));
  BOOST_TEST(a->needs(1));
  BOOST_TEST(!a->needs(0));
  const auto of_b = b->request(0, 0);
  auto number = a->contribute(of_b.head, of_b.body);
  BOOST_REQUIRE(number.ok());
  BOOST_TEST(a->answerable(*number));
  BOOST_TEST(a->needs(1));  // its mean
  BOOST_TEST(!a->complete());
  const auto again = a->contribute(of_b.head, of_b.body);
  BOOST_TEST(*again == *number);  // a repeat gets the same answer
}

BOOST_AUTO_TEST_CASE(memory_of_an_earlier_round_is_used_if_nobody_reads_it) {
  const AllReduceSetup setup{Topology::kButterfly, tensor::Codec::kNone, 1'000};
  auto first = make_all_reduce(setup, round_of(200, {1}, 0));
  const void* place = first->result().data();
  auto second = make_all_reduce(setup, round_of(200, {1}, 0), first->take_memory());
  BOOST_TEST(second->result().data() == place);
  const Buffer read = second->result();
  BOOST_TEST(!second->take_memory().owner());
}

BOOST_AUTO_TEST_SUITE_END()
