#include "routing/steps/answer_cache.h"

#include <boost/test/unit_test.hpp>
#include <string>

using swarm::routing::AnswerCache;

BOOST_AUTO_TEST_SUITE(AnswerCacheTest)

BOOST_AUTO_TEST_CASE(the_one_unused_for_longest_goes_first) {
  AnswerCache<int, std::string> cache(2, 100);
  cache.put(1, "one", 1);
  cache.put(2, "two", 1);
  BOOST_REQUIRE(cache.find(1) != nullptr);
  cache.put(3, "three", 1);
  BOOST_TEST(cache.find(2) == nullptr);
  BOOST_REQUIRE(cache.find(1) != nullptr);
  BOOST_TEST(*cache.find(1) == "one");
  BOOST_TEST(cache.size() == 2u);
}

BOOST_AUTO_TEST_CASE(bytes_are_limited_too) {
  AnswerCache<int, std::string> cache(100, 10);
  for (int i = 0; i < 5; ++i) cache.put(i, "", 4);
  BOOST_TEST(cache.size() == 2u);
  BOOST_TEST(cache.bytes() == 8u);
  BOOST_TEST(cache.find(4) != nullptr);
}

BOOST_AUTO_TEST_CASE(the_latest_stays_whatever_its_size) {
  AnswerCache<int, std::string> cache(100, 10);
  cache.put(1, "", 4);
  cache.put(2, "", 50);
  BOOST_TEST(cache.size() == 1u);
  BOOST_TEST(cache.find(2) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_key_has_one_answer_and_counts_once) {
  AnswerCache<int, std::string> cache(100, 10);
  cache.put(1, "old", 4);
  cache.put(1, "new", 3);
  BOOST_TEST(cache.size() == 1u);
  BOOST_TEST(cache.bytes() == 3u);
  BOOST_TEST(*cache.find(1) == "new");
}

BOOST_AUTO_TEST_CASE(cleared_it_knows_nothing) {
  AnswerCache<int, std::string> cache(100, 10);
  cache.put(1, "old", 4);
  cache.clear();
  BOOST_TEST(cache.find(1) == nullptr);
  BOOST_TEST(cache.bytes() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
