#include "routing/state/told_state.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

namespace swarm::routing {
namespace {

using testing::peer;

StateLabel label(uint64_t step, uint64_t checksum, uint64_t history) {
  return {Step(step), checksum, History(history)};
}

BOOST_AUTO_TEST_SUITE(ToldStates)

BOOST_AUTO_TEST_CASE(other_bits_of_the_same_step_contradict_the_word) {
  ToldState state;
  state.told(label(7, 100, 3));
  BOOST_TEST(!state.contradicts(label(7, 100, 3)));
  BOOST_TEST(state.contradicts(label(7, 101, 3)));
  BOOST_TEST(state.contradicts(label(7, 101, 0)));
  BOOST_TEST(state.checksum() == 100u);
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_other_steps_and_other_histories) {
  ToldState state;
  BOOST_TEST(!state.contradicts(label(7, 101, 3)));
  state.told(label(7, 100, 3));
  BOOST_TEST(!state.contradicts(label(8, 101, 3)));
  BOOST_TEST(!state.contradicts(label(6, 101, 3)));
  BOOST_TEST(!state.contradicts(label(7, 101, 4)));
}

BOOST_AUTO_TEST_CASE(the_newest_word_counts) {
  ToldState state;
  state.told(label(7, 100, 3));
  state.told(label(8, 200, 3));
  BOOST_TEST(!state.contradicts(label(7, 101, 3)));
  state.told({});
  BOOST_TEST(!state.contradicts(label(8, 101, 3)));
  BOOST_TEST(state.checksum() == 0u);
}

BOOST_AUTO_TEST_CASE(who_was_refused_is_known_until_a_state_is_believed) {
  ToldState state;
  BOOST_TEST(!state.refused(peer(1)));
  BOOST_TEST(state.refuse(peer(1)));
  BOOST_TEST(!state.refuse(peer(1)));
  BOOST_TEST(state.refused(peer(1)));
  BOOST_TEST(!state.refused(peer(2)));
  state.forget();
  BOOST_TEST(!state.refused(peer(1)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
