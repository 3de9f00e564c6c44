#include "routing/state/donors.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

using namespace swarm::routing;

namespace {

std::set<std::string> chosen(const std::string& learner, const std::vector<std::string>& sources) {
  std::set<std::string> names;
  for (const size_t i : choose_donors(learner, sources, 4)) names.insert(sources.at(i));
  return names;
}

std::vector<std::string> peers(size_t n) {
  std::vector<std::string> names;
  for (size_t i = 0; i < n; ++i) names.push_back("peer-" + std::to_string(i));
  return names;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(DonorsSuite)

// It asked by its node's id, which a restart draws anew: other donors, who had kept no means for it.
BOOST_AUTO_TEST_CASE(after_a_restart_the_same_donors_are_asked) {
  auto sources = peers(20);
  const auto before = chosen("learner", sources);
  BOOST_TEST(before.size() == 4u);
  std::reverse(sources.begin(), sources.end());
  BOOST_TEST((chosen("learner", sources) == before));
}

BOOST_AUTO_TEST_CASE(if_one_leaves_the_others_stay) {
  auto sources = peers(20);
  const auto before = chosen("learner", sources);
  sources.erase(std::find(sources.begin(), sources.end(), *before.begin()));
  const auto after = chosen("learner", sources);
  BOOST_TEST(after.size() == 4u);
  BOOST_TEST(std::includes(after.begin(), after.end(), std::next(before.begin()), before.end()));
}

BOOST_AUTO_TEST_CASE(of_few_all_are_asked) {
  BOOST_TEST(chosen("learner", peers(3)).size() == 3u);
  BOOST_TEST(chosen("learner", {}).empty());
}

BOOST_AUTO_TEST_CASE(learners_share_the_donors) {
  std::map<std::string, int> asked;
  for (int i = 0; i < 200; ++i)
    for (const auto& name : chosen("learner-" + std::to_string(i), peers(20))) ++asked[name];
  BOOST_TEST(asked.size() == 20u);
  for (const auto& [name, times] : asked) {  // 40 on average
    BOOST_TEST(times > 15);
    BOOST_TEST(times < 75);
  }
}

BOOST_AUTO_TEST_SUITE_END()
