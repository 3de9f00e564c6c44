#include "common/shorten_list.h"

#include <boost/test/unit_test.hpp>

using swarm::shorten_list;

BOOST_AUTO_TEST_SUITE(ShortenList)

BOOST_AUTO_TEST_CASE(what_fits_stays) {
  BOOST_TEST(shorten_list("minority: have 1 of 3, missing a, b", 35) ==
             "minority: have 1 of 3, missing a, b");
}

BOOST_AUTO_TEST_CASE(names_that_do_not_fit_are_counted) {
  std::string text = "minority: have 3 of 103, missing n0";
  for (int i = 1; i < 100; ++i) text += ", n" + std::to_string(i);
  BOOST_TEST(shorten_list(text, 60) ==
             "minority: have 3 of 103, missing n0, n1, n2, n3 and 96 more");
  for (size_t most = 48; most <= text.size(); ++most) {
    const std::string cut = shorten_list(text, most);
    BOOST_TEST(cut.size() <= most);
    BOOST_TEST((cut == text || cut.find(" more") != std::string::npos), cut);
  }
}

BOOST_AUTO_TEST_CASE(without_a_list_the_text_is_cut) {
  BOOST_TEST(shorten_list(std::string(100, 'x'), 32) == std::string(29, 'x') + "...");
  BOOST_TEST(shorten_list(std::string(90, 'x') + ", y", 32) == std::string(29, 'x') + "...");
  BOOST_TEST(shorten_list(", " + std::string(90, 'x'), 32).size() <= 32u);
  BOOST_TEST(shorten_list("," + std::string(90, ' '), 32).size() <= 32u);
}

BOOST_AUTO_TEST_SUITE_END()
