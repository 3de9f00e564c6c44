#include "routing/steps/trainer_quiet.h"

#include <boost/test/unit_test.hpp>

namespace swarm::routing {
namespace {

bool says(const std::optional<std::string>& word, const std::string& words) {
  return word && word->find(words) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(TrainerQuietTest)

// Its node said nothing at all: of a step that is open trainers speak, and this one had nothing to say.
BOOST_AUTO_TEST_CASE(who_reaches_nobody_says_so_every_few_seconds) {
  TrainerQuiet quiet;
  BOOST_TEST(!quiet.word({}, 100));
  BOOST_TEST(!quiet.word({}, 109));
  BOOST_TEST(says(quiet.word({}, 110), "for 10 s: this trainer reaches no coordinator"));
  BOOST_TEST(!quiet.word({}, 119));
  TrainerQuiet::Sees sees{true, 0, 0, 0};
  BOOST_TEST(says(quiet.word(sees, 120), "for 20 s: this trainer reaches no peer of stage 0"));
  sees.peers = 2;
  BOOST_TEST(!quiet.word(sees, 130));  // it waits for slots: others say why
  quiet.heard(140);
  BOOST_TEST(!quiet.word({}, 149));
  BOOST_TEST(says(quiet.word({}, 150), "for 10 s"));
}

BOOST_AUTO_TEST_CASE(what_is_under_way_for_long_is_said) {
  TrainerQuiet quiet;
  quiet.word({}, 100);
  BOOST_TEST(!quiet.word({true, 2, 3, 25}, 125));
  BOOST_TEST(says(quiet.word({true, 2, 3, 30}, 130),
                  "3 microbatches are under way, the oldest since 30 s"));
}

BOOST_AUTO_TEST_CASE(why_they_do_not_come_back_is_said) {
  TrainerQuiet quiet;
  quiet.word({}, 100);
  for (int i = 0; i < 7; ++i) quiet.failed("a peer of stage 0 is not reached");
  BOOST_TEST(says(quiet.word({true, 2, 3, 1}, 110),
                  "7 microbatches failed, the last one: a peer of stage 0"));
  quiet.heard(120);
  BOOST_TEST(!quiet.word({true, 2, 3, 1}, 130));
}

BOOST_AUTO_TEST_CASE(nothing_is_waited_for_at_the_end) {
  TrainerQuiet quiet;
  quiet.word({}, 100);
  quiet.finished();
  BOOST_TEST(!quiet.word({}, 200));
  quiet.heard(300);  // the swarm has gone back
  BOOST_TEST(quiet.word({}, 310).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
