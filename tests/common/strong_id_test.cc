#include "common/strong_id.h"

#include <boost/test/unit_test.hpp>
#include <type_traits>
#include <unordered_set>

using namespace swarm;

BOOST_AUTO_TEST_SUITE(StrongIdTest)

BOOST_AUTO_TEST_CASE(neither_a_number_nor_another_kind_of_id_becomes_one_unasked) {
  static_assert(!std::is_convertible_v<uint64_t, Step>);
  static_assert(!std::is_convertible_v<Step, uint64_t>);
  static_assert(!std::is_convertible_v<Round, Step>);
  static_assert(!std::is_constructible_v<Step, Round>);
  static_assert(!std::is_assignable_v<Step&, Round>);
  BOOST_TEST(Step(7).value() == 7u);
  BOOST_TEST(Step() == Step(0));
}

BOOST_AUTO_TEST_CASE(ids_are_ordered_as_their_numbers) {
  BOOST_TEST(Term(1) < Term(2));
  BOOST_TEST(Term(2) >= Term(2));
  BOOST_TEST(Term(3) != Term(2));
  BOOST_TEST(Term(3) > Term(2));
  BOOST_TEST(Term(2) <= Term(2));
}

BOOST_AUTO_TEST_CASE(counting_goes_on_in_the_same_type_and_a_distance_is_a_number) {
  Step step(41);
  BOOST_TEST(++step == Step(42));
  BOOST_TEST(step + 8 == Step(50));
  BOOST_TEST(step - 2 == Step(40));
  static_assert(std::is_same_v<decltype(step - Step(40)), uint64_t>);
  BOOST_TEST(step - Step(40) == 2u);
}

BOOST_AUTO_TEST_CASE(ids_hash_and_print_as_their_numbers) {
  const std::unordered_set<Slot> slots{Slot(1), Slot(2), Slot(1)};
  BOOST_TEST(slots.size() == 2u);
  BOOST_TEST(fmt::format("step={} stage={:02}", Step(7), Stage(3)) == "step=7 stage=03");
}

BOOST_AUTO_TEST_SUITE_END()
