#include "routing/steps/history.h"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace swarm;
using namespace swarm::routing;

namespace {

CommitFacts commit() { return {Step(7), {11, 12}, Step(6), {Slot(3)}, 1}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(HistoryTest)

BOOST_AUTO_TEST_CASE(equal_commits_on_equal_histories_have_equal_ids) {
  BOOST_TEST(history_after(History(5), commit()) == history_after(History(5), commit()));
}

BOOST_AUTO_TEST_CASE(whatever_differs_makes_another_id) {
  std::set<History> ids{History(0), history_after(History(0), commit()),
                        history_after(History(5), commit())};
  CommitFacts step = commit(), digests = commit(), order = commit(), on = commit(),
              skips = commit(), none = commit(), again = commit();
  step.step = Step(8);
  digests.digests = {11};
  order.digests = {12, 11};
  on.computed_on = Step(7);
  skips.skips = {Slot(4)};
  none.skips.clear();
  again.configuration = 2;  // the swarm has gone back, and trains the step anew
  for (const CommitFacts& one : {step, digests, order, on, skips, none, again})
    ids.insert(history_after(History(5), one));
  BOOST_TEST(ids.size() == 10u);
}

BOOST_AUTO_TEST_CASE(an_id_says_which_configuration_decided_its_last_commit) {
  CommitFacts one = commit();
  one.configuration = 70'000;
  const History id = history_after(History(5), one);
  BOOST_TEST(made_in(id, 70'000));
  BOOST_TEST(!made_in(id, 69'999));
  BOOST_TEST(!made_in(History(), 0));
}

BOOST_AUTO_TEST_SUITE_END()
