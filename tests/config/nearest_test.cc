#include "config/nearest.h"

#include <boost/test/unit_test.hpp>

namespace swarm::config {

BOOST_AUTO_TEST_SUITE(Nearest)

BOOST_AUTO_TEST_CASE(edits_are_counted_and_a_swap_is_one) {
  BOOST_TEST(edit_distance("", "abc") == 3u);
  BOOST_TEST(edit_distance("layers", "layers") == 0u);
  BOOST_TEST(edit_distance("layer", "layers") == 1u);
  BOOST_TEST(edit_distance("alyers", "layers") == 1u);
  BOOST_TEST(edit_distance("abc", "xyz") == 3u);
}

BOOST_AUTO_TEST_CASE(the_nearest_wins_and_what_is_far_is_not_offered) {
  BOOST_TEST(nearest("stage", {"step", "stages", "steps"}) == "stages");
  BOOST_TEST(nearest("banana", {"layers", "width"}).empty());
  BOOST_TEST(nearest("", {"layers"}).empty());
  BOOST_TEST(nearest("k", {"k"}) == "k");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config
