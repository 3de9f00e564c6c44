#include "common/printable.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(Printable)

BOOST_AUTO_TEST_CASE(what_moves_a_terminal_is_written_out) {
  BOOST_TEST(swarm::printable("a\n\x1b[2J\x7f\xff", 100) == "a\\x0a\\x1b[2J\\x7f\\xff");
  BOOST_TEST(swarm::printable("plain text, 100 %", 100) == "plain text, 100 %");
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_and_says_so) {
  const std::string cut = swarm::printable(std::string(1000, 'x'), 10);
  BOOST_TEST(cut == "xxxxxxx...");
  BOOST_TEST(swarm::printable(std::string(1000, '\n'), 10).size() <= 10u);
}

BOOST_AUTO_TEST_SUITE_END()
