#include <boost/test/unit_test.hpp>
#include <set>

#include "records/catalogue.h"

using namespace swarm;
using namespace swarm::records;

BOOST_AUTO_TEST_SUITE(records_event)

BOOST_AUTO_TEST_CASE(an_event_is_read_as_it_was_written) {
  const Rerouted before{
      7, "stage1-a", Millis(1234.5678), {ErrorCode::kPeerTimeout, "no \"answer\""}};
  Event event = make_event(1, 133, before);
  event.time_s = 1795230649.1234;
  event.node = "trainer-a";
  const std::string line = to_json(event);
  BOOST_TEST(line ==
             "{\"time\":1795230649.123,\"node\":\"trainer-a\",\"event\":\"rerouted\",\"level\":"
             "\"warn\",\"stage\":1,\"step\":133,\"slot\":7,\"peer\":\"stage1-a\",\"waited_ms\":"
             "1234.568,\"error\":\"peer_timeout\",\"reason\":\"no \\\"answer\\\"\"}");
  const auto back = parse_event(line);
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST(back->node == "trainer-a");
  BOOST_TEST(back->stage == 1);
  BOOST_TEST(back->step == 133);
  BOOST_TEST(back->reason() == "no \"answer\"");
  BOOST_TEST(!back->as<PeerLost>().has_value());
  const auto after = back->as<Rerouted>();
  BOOST_REQUIRE(after.has_value());
  BOOST_TEST(after->slot == 7u);
  BOOST_TEST(after->peer == "stage1-a");
  BOOST_TEST(after->waited.count() == 1234.568);
  BOOST_TEST((after->error.code == ErrorCode::kPeerTimeout));
  BOOST_TEST(after->error.detail == "no \"answer\"");
}

BOOST_AUTO_TEST_CASE(an_empty_optional_has_no_field) {
  const std::string line = to_json(make_event(-1, 4, Recovered{{}, 3, {}, "all were gone"}));
  BOOST_TEST(line.find("from_step") == line.npos);
  BOOST_TEST(line.find("\"stage\"") == line.npos);
  const auto back = parse_event(line)->as<Recovered>();
  BOOST_TEST(!back->from_step.has_value());
  BOOST_TEST(*back->peers == 3u);
}

BOOST_AUTO_TEST_CASE(checksums_are_hex_digits_and_come_back) {
  const auto event = make_event(0, 1, ReplicasDiffer{{Hex{1}, Hex{0xffffffffffffffff}}});
  BOOST_TEST(text(event) ==
             ": replicas_differ stage=0 step=1 checksums=0000000000000001,ffffffffffffffff");
  const auto back = parse_event(to_json(event))->as<ReplicasDiffer>();
  BOOST_TEST((back->checksums == std::vector<Hex>{Hex{1}, Hex{0xffffffffffffffff}}));
}

BOOST_AUTO_TEST_CASE(a_minority_says_who_is_missing) {
  const auto event = make_event(-1, 4, Minority{7, 3, 5, {"s1b", "t2"}});
  BOOST_TEST(text(event) == ": minority step=4 number=7 have=3 of=5 missing=s1b,t2");
  BOOST_TEST((parse_event(to_json(event))->as<Minority>()->missing ==
              std::vector<std::string>{"s1b", "t2"}));
  BOOST_TEST((lane_of(event) == Lane::kTrouble));
  BOOST_TEST((lane_of(make_event(-1, 4, Quorum{4, 5, 2.5})) == Lane::kRecovery));
  BOOST_TEST(!lane_of(make_event(-1, 4, ConfigurationHolds{8, 5, {}, {"t2"}})).has_value());
}

BOOST_AUTO_TEST_CASE(people_read_the_same_fields) {
  Event event = make_event(1, 133, PeerLost{"stage1-b", "the link is lost"});
  event.node = "seed";
  BOOST_TEST(text(event) == "seed: lost stage=1 step=133 peer=stage1-b reason=the link is lost");
}

BOOST_AUTO_TEST_CASE(an_event_whose_fields_are_missing_or_of_another_type_says_nothing) {
  for (const char* fields : {"", ",\"slots\":3", ",\"slots\":\"3\",\"reason\":\"x\"",
                             ",\"slots\":-3,\"reason\":\"x\"", ",\"slots\":3,\"reason\":null"}) {
    const auto event = parse_event(std::string("{\"event\":\"sum_dropped\"") + fields + "}");
    BOOST_REQUIRE(event.has_value());
    BOOST_TEST(event->is<SumDropped>());
    BOOST_TEST(!event->as<SumDropped>().has_value(), fields);
    BOOST_TEST(event->stage == -1);
  }
}

BOOST_AUTO_TEST_CASE(an_event_of_another_version_keeps_its_fields) {
  const auto event =
      parse_event("{\"event\":\"landed\",\"node\":\"a\",\"on\":[1,2.5,null],\"x\":true}");
  BOOST_REQUIRE(event.has_value());
  BOOST_TEST(text(*event) == "a: landed on=1,2.5,- x=yes");
  BOOST_TEST(info_of("landed") == nullptr);
  BOOST_TEST(!lane_of(*event).has_value());
}

BOOST_AUTO_TEST_CASE(what_is_no_event_is_none) {
  for (const char* line : {"", "[]", "{}", "{\"event\":3}", "{\"event\":\"lost\"", "lost"})
    BOOST_TEST(!parse_event(line).has_value(), line);
}

BOOST_AUTO_TEST_CASE(a_name_stands_once_in_the_catalogue) {
  std::set<std::string> names;
  for (const auto& row : catalogue()) BOOST_TEST(names.insert(row.info.name).second, row.info.name);
  BOOST_TEST(names.size() >= 50u);
}

BOOST_AUTO_TEST_CASE(an_event_that_needs_a_reason_has_a_field_for_it) {
  for (const auto& row : catalogue()) {
    bool has_reason = false;
    for (const auto& field : row.fields) has_reason |= field.key == "reason";
    if (row.info.needs_reason()) BOOST_TEST(has_reason, row.info.name);
  }
}

BOOST_AUTO_TEST_CASE(every_field_says_what_it_means_and_none_hides_the_envelope) {
  for (const auto& row : catalogue())
    for (const auto& field : row.fields) {
      BOOST_TEST(!field.meaning.empty(), row.info.name << "." << field.key);
      for (const char* taken : {"time", "node", "event", "level", "stage", "step"})
        BOOST_TEST(field.key != taken, row.info.name);
      const bool ms = field.key.size() > 3 && field.key.substr(field.key.size() - 3) == "_ms";
      BOOST_TEST(ms == (field.type == "ms"), row.info.name << "." << field.key);
    }
}

BOOST_AUTO_TEST_CASE(an_action_decides_the_lane_of_timeline_and_chaos) {
  using Act = TimelineAct;
  BOOST_TEST((lane_of(make_event(-1, -1, Act{0, "kill"})) == Lane::kKill));
  BOOST_TEST((lane_of(make_event(-1, -1, ChaosAct{{}, "stop", false})) == Lane::kKill));
  BOOST_TEST((lane_of(make_event(-1, -1, Act{0, "pause"})) == Lane::kPause));
  BOOST_TEST(!lane_of(make_event(-1, -1, Act{0, "start"})).has_value());
  BOOST_TEST((lane_of(make_event(-1, -1, RunFinished{})) == Lane::kRun));
  BOOST_TEST((lane_of(make_event(-1, -1, ProcessLost{})) == Lane::kLoss));
}

BOOST_AUTO_TEST_SUITE_END()
