#include "common/repeats.h"

#include <boost/test/unit_test.hpp>

namespace swarm {
namespace {

BOOST_AUTO_TEST_SUITE(RepeatsTest)

BOOST_AUTO_TEST_CASE(twenty_equal_lines_pass_and_the_others_are_told_as_a_number) {
  Repeats repeats;
  int passed = 0;
  for (int i = 0; i < 170; ++i) passed += repeats.take("lost peer=a", "lost", 100 + i * 0.01);
  BOOST_TEST(passed == 20);
  BOOST_TEST(repeats.take("lost peer=b", "lost", 102));  // another line
  BOOST_TEST(repeats.told(109.9).empty());
  const auto told = repeats.told(110);
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST(told[0].label == "lost");
  BOOST_TEST(told[0].times == 150u);
  BOOST_TEST(repeats.told(120).empty());
  BOOST_TEST(repeats.take("lost peer=a", "lost", 111));  // a new window
}

BOOST_AUTO_TEST_CASE(lines_of_one_label_are_told_as_one_number) {
  Repeats repeats;
  for (const char* what : {"lost peer=a", "lost peer=b"})
    for (int i = 0; i < 25; ++i) repeats.take(what, "lost", 100);
  const auto told = repeats.told(110);
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST(told[0].times == 10u);
}

BOOST_AUTO_TEST_CASE(a_line_every_second_is_never_held_back) {
  Repeats repeats;
  for (int i = 0; i < 1'000; ++i) {
    BOOST_TEST(repeats.told(i).empty());
    BOOST_TEST(repeats.take("still waits", "waits", i));
  }
}

BOOST_AUTO_TEST_CASE(the_end_and_a_clock_that_was_set_back_tell_too) {
  Repeats repeats;
  for (int i = 0; i < 25; ++i) repeats.take("x", "x", 1'000);
  BOOST_TEST(repeats.told(500).size() == 1u);
  for (int i = 0; i < 25; ++i) repeats.take("x", "x", 500);
  BOOST_TEST(repeats.told(501, true).size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_remembered_is_bounded) {
  Repeats repeats;
  for (int i = 0; i < 100'000; ++i) BOOST_REQUIRE(repeats.take(std::to_string(i), "x", 1));
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += repeats.take("beyond", "x", 1);
  BOOST_TEST(passed == 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
