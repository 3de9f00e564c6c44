#include "common/mix.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;

BOOST_AUTO_TEST_SUITE(MixTest)

BOOST_AUTO_TEST_CASE(the_numbers_are_those_of_the_published_generator) {
  SplitMix64 random(0);
  BOOST_TEST(random.next() == 0xe220a8397b1dcdafull);
  BOOST_TEST(random.next() == 0x6e789e6aa1b965f4ull);
  BOOST_TEST(random.next() == 0x06c45d188009454full);
}

BOOST_AUTO_TEST_CASE(mixing_a_number_is_the_first_draw_of_a_generator_seeded_with_it) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{12345}, ~uint64_t{0}})
    BOOST_TEST(mix(seed) == SplitMix64(seed).next());
}

BOOST_AUTO_TEST_CASE(uniform_numbers_stay_below_one_and_fill_both_halves) {
  SplitMix64 random(7);
  int low = 0;
  for (int i = 0; i < 1'000; ++i) {
    const double drawn = random.uniform();
    BOOST_TEST(drawn >= 0.0);
    BOOST_TEST(drawn < 1.0);
    low += drawn < 0.5;
  }
  BOOST_TEST(low > 400);
  BOOST_TEST(low < 600);
}

BOOST_AUTO_TEST_CASE(text_hashes_to_the_published_values_in_one_piece_or_two) {
  BOOST_TEST(fnv1a("") == 0xcbf29ce484222325ull);
  BOOST_TEST(fnv1a("a") == 0xaf63dc4c8601ec8cull);
  BOOST_TEST(fnv1a("foobar") == 0x85944171f73967e8ull);
  BOOST_TEST(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
}

BOOST_AUTO_TEST_SUITE_END()
