#include "actors/coordinator/coordinator_records.h"

#include <boost/test/unit_test.hpp>
#include <chrono>

#include "records/catalogue.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;
namespace facts = swarm::routing::facts;

namespace {

struct Written {
  std::shared_ptr<MemoryEventLog> events = std::make_shared<MemoryEventLog>();
  PeerBook book;
  CoordinatorRecords records{{}, events, book};

  records::Event write(routing::Fact fact) {
    records.write(routing::orders::Note{{}, Step(17), std::move(fact)});
    return events->events.back();
  }
};

using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(CoordinatorRecordsTest)

BOOST_FIXTURE_TEST_CASE(a_minority_and_its_end_reach_the_records, Written) {
  const auto event = write(facts::Minority{7, 3, 5, {"s1b", "t2"}});
  const auto minority = event.as<records::Minority>();
  BOOST_REQUIRE(minority.has_value());
  BOOST_TEST(event.step == 17);
  BOOST_TEST(event.stage == -1);
  BOOST_TEST(minority->number == 7u);
  BOOST_TEST(minority->have == 3u);
  BOOST_TEST(minority->of == 5u);
  BOOST_TEST((minority->missing == Names{"s1b", "t2"}));
  const auto quorum = write(facts::Quorum{4, 5, 2500ms}).as<records::Quorum>();
  BOOST_REQUIRE(quorum.has_value());
  BOOST_TEST(quorum->have == 4u);
  BOOST_TEST(quorum->of == 5u);
  BOOST_TEST(quorum->after_s == 2.5);
}

BOOST_FIXTURE_TEST_CASE(a_configuration_reaches_the_records_with_who_came_and_went, Written) {
  const auto holds =
      write(facts::ConfigurationHolds{8, 4, {"s2c"}, {"s1b", "t2"}, false, true, "8 by n"})
          .as<records::ConfigurationHolds>();
  BOOST_REQUIRE(holds.has_value());
  BOOST_TEST(holds->number == 8u);
  BOOST_TEST(holds->voters == 4u);
  BOOST_TEST((holds->joined == Names{"s2c"}));
  BOOST_TEST((holds->left == Names{"s1b", "t2"}));
  BOOST_TEST(!holds->gone_back);
  BOOST_TEST(holds->forced);
  BOOST_TEST((holds->line == std::optional<std::string>("8 by n")));
}

BOOST_FIXTURE_TEST_CASE(rests_and_pauses_reach_the_records, Written) {
  const auto ends = write(facts::RestEnds{"s1b", "its time is over"}).as<records::RestEnds>();
  BOOST_REQUIRE(ends.has_value());
  BOOST_TEST(ends->peer == "s1b");
  BOOST_TEST(ends->reason == "its time is over");
  const auto plain = write(facts::RunsPlain{Step(37)}).as<records::RunsPlain>();
  BOOST_REQUIRE(plain.has_value());
  BOOST_TEST(plain->until == 37u);
}

BOOST_FIXTURE_TEST_CASE(a_node_that_coordinates_alone_says_so_once, Written) {
  records.training_begins(Step(0), 0);
  records.training_begins(Step(4), 0);
  BOOST_TEST(events->count("one_trainer") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_node_that_others_can_follow_says_nothing, Written) {
  records.training_begins(Step(0), 1);
  records.training_begins(Step(4), 0);  // the other one is down for a moment
  BOOST_TEST(events->count("one_trainer") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
