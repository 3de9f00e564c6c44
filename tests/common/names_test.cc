#include "common/names.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/ids.h"

using namespace swarm;

BOOST_AUTO_TEST_SUITE(NamesTest)

BOOST_AUTO_TEST_CASE(a_role_is_written_with_its_place_and_its_later_lives) {
  BOOST_TEST((RoleName{Role::kStage, 0, 0}.text()) == "stage.0");
  BOOST_TEST((RoleName{Role::kStage, 2, 1}.text()) == "stage.2.1");
  BOOST_TEST((RoleName{Role::kTrainer, 0, 0}.text()) == "trainer");
  BOOST_TEST((RoleName{Role::kCoordinator, 0, 3}.text()) == "coordinator.3");
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read_back) {
  for (Role role : {Role::kStage, Role::kCompute, Role::kCheckpointer, Role::kAverager,
                    Role::kState, Role::kCoordinator, Role::kTrainer, Role::kVoter})
    for (uint32_t life : {0u, 1u, 12u}) {
      const bool has_place =
          role != Role::kCoordinator && role != Role::kTrainer && role != Role::kVoter;
      const RoleName name{role, has_place ? 7u : 0u, life};
      BOOST_TEST((RoleName::parse(name.text()) == name), name.text());
    }
}

BOOST_AUTO_TEST_CASE(no_other_text_is_a_role) {
  for (const char* text :
       {"", "stage", "stage.", "stage.x", "stage.0.", "stage.0.0", "stage.0.1.2", "stage.01",
        "trainer.0", "trainer.1.1", "stages.0", "Stage.0", "stage.-1", "stage.99999999999"})
    BOOST_TEST(!RoleName::parse(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(an_actor_beside_a_stage_has_its_place_and_life) {
  BOOST_TEST(beside(testing::peer(1, "stage.3.2"), Role::kAverager) ==
             testing::peer(1, "averager.3.2"));
  BOOST_TEST(beside(testing::peer(1, "stage.0"), Role::kState) == testing::peer(1, "state.0"));
  BOOST_TEST(beside(testing::peer(1, "whoever"), Role::kAverager) == testing::peer(1, ""));
}

BOOST_AUTO_TEST_CASE(two_lives_are_of_one_role_and_two_places_are_not) {
  using testing::peer;
  BOOST_TEST(same_role(peer(1, "stage.0"), peer(1, "stage.0.1")));
  BOOST_TEST(same_role(peer(1, "trainer"), peer(1, "trainer.4")));
  BOOST_TEST(!same_role(peer(1, "stage.0"), peer(1, "stage.1")));
  BOOST_TEST(!same_role(peer(1, "stage.0"), peer(2, "stage.0")));
  BOOST_TEST(!same_role(peer(1, "stage.0"), peer(1, "averager.0")));
  BOOST_TEST(!same_role(peer(1, "one"), peer(1, "other")));
  BOOST_TEST(same_role(peer(1, "one"), peer(1, "one")));
}

BOOST_AUTO_TEST_CASE(a_stage_has_one_key) {
  BOOST_TEST(stage_key(12) == "stage/12");
  BOOST_TEST(is_stage_key(stage_key(0)));
  BOOST_TEST(!is_stage_key(kCoordinatorKey));
}

BOOST_AUTO_TEST_CASE(names_and_addresses_hold_nothing_that_moves_a_cursor) {
  BOOST_TEST(is_name("node-a.1_B"));
  for (const auto& bad : {std::string(), std::string("."), std::string("a b"), std::string("a\n"),
                          std::string("\x1b[2J"), std::string(65, 'a'), std::string("a\0b", 3)})
    BOOST_TEST(!is_name(bad));
  BOOST_TEST(Endpoint::parse("node-1.example.com:7000").ok());
  BOOST_TEST(Endpoint::parse("[fe80::1%eth0]:7000").ok());
  for (const auto& bad : {std::string("a\n:1"), std::string("\x1b[2J:1"), std::string("a\0b:1", 5),
                          std::string(254, 'a') + ":1"}) {
    const auto parsed = Endpoint::parse(bad);
    BOOST_TEST(!parsed.ok());
    for (const char c : parsed.error().detail) BOOST_TEST((c >= 0x20 && c < 0x7f));
  }
}

BOOST_AUTO_TEST_CASE(a_subkey_is_of_the_node_that_it_begins_with) {
  const auto one = testing::peer(1, "stage.0"), other = testing::peer(2, "stage.0");
  BOOST_TEST(writes(one.node, subkey_of(one)));
  BOOST_TEST(writes(one.node, subkey_of(one.node)));
  BOOST_TEST(!writes(one.node, subkey_of(other)));
  BOOST_TEST(!writes(one.node, subkey_of(one.node) + "0"));
  BOOST_TEST(!writes(one.node, ""));
}

BOOST_AUTO_TEST_SUITE_END()
