#include "actors/node/spot_notice.h"

#include <boost/test/unit_test.hpp>
#include <vector>

using swarm::actors::must_leave;
using swarm::actors::SpotNotice;

namespace {

struct Heard {
  swarm::records::MemoryEventLog events;
  std::vector<std::string> said;
  bool leaves(const std::optional<SpotNotice>& news) {
    return must_leave(news, events, [this](const std::string& line) { said.push_back(line); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(SpotNoticeTest, Heard)

BOOST_AUTO_TEST_CASE(no_news_are_neither_recorded_nor_said) {
  BOOST_TEST(!leaves(std::nullopt));
  BOOST_TEST(events.events.empty());
  BOOST_TEST(said.empty());
}

BOOST_AUTO_TEST_CASE(a_notice_ends_the_node_and_says_why) {
  BOOST_TEST(leaves(SpotNotice{true, "the file is there"}));
  BOOST_TEST(events.count("preempted") == 1u);
  BOOST_REQUIRE(said.size() == 1u);
  BOOST_TEST(said[0] == "leaves: this machine is about to go (the file is there)");
}

BOOST_AUTO_TEST_CASE(a_machine_that_cannot_be_asked_is_told_of_and_the_node_stays) {
  BOOST_TEST(!leaves(SpotNotice{false, "exit code 127"}));
  BOOST_TEST(events.count("preempted") == 0u);
  BOOST_TEST(events.count("preemption_unseen") == 1u);
  BOOST_TEST(said.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
