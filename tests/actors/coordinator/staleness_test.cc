#include "actors/coordinator/staleness.h"

#include <boost/test/unit_test.hpp>

namespace swarm::actors {
namespace {

BOOST_AUTO_TEST_SUITE(StalenessTest)

Staleness of(std::initializer_list<uint64_t> values) {
  Staleness out;
  for (uint64_t value : values) out.add(value);
  return out;
}

BOOST_AUTO_TEST_CASE(gradients_are_counted_by_their_age) {
  const auto counts = of({0, 2, 2, 100});
  BOOST_TEST(counts.count() == 4u);
  BOOST_TEST(counts.mean() == 26.0);
  BOOST_TEST(counts.max == 100u);
  BOOST_TEST(counts.histogram.size() == Staleness::kEntries);
  BOOST_TEST(counts.text() == "mean 26 max 100 (0:1 2:2 63+:1)");
  BOOST_TEST(Staleness{}.text() == "mean 0 max 0 ()");
}

BOOST_AUTO_TEST_CASE(those_of_several_peers_add_up) {
  auto counts = of({1, 3});
  counts.merge(of({3}));
  counts.merge(Staleness{});
  BOOST_TEST(counts.text() == of({1, 3, 3}).text());
}

BOOST_AUTO_TEST_CASE(they_travel_unchanged_and_a_strangers_histogram_is_cut) {
  proto::EndPeriodReply reply;
  of({0, 5, 70}).write(reply);
  BOOST_TEST(Staleness::from(reply).text() == of({0, 5, 70}).text());
  for (int i = 0; i < 1000; ++i) reply.add_staleness(1);
  BOOST_TEST(Staleness::from(reply).histogram.size() == Staleness::kEntries);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
