#include "actors/node/roles.h"

#include <boost/test/unit_test.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <memory>

#include "apps/sim/swarm.h"

using namespace swarm;
using namespace swarm::actors;

namespace {

std::vector<std::string> names(const std::vector<RoleGroup>& groups) {
  std::vector<std::string> out;
  for (const auto& group : groups) out.push_back(group.name.text());
  return out;
}

std::shared_ptr<RoleContext> context(std::vector<int32_t> stages, bool trainer) {
  auto out = std::make_shared<RoleContext>();
  out->options.stages = std::move(stages);
  out->options.trainer = trainer;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RolesTest)

BOOST_AUTO_TEST_CASE(a_node_has_a_group_for_each_stage_that_it_serves) {
  const std::vector<std::string> wanted{"stage.0", "stage.1"};
  BOOST_TEST(names(role_groups(context({2, 5}, false))) == wanted,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_trainer_node_has_a_coordinator_too) {
  const std::vector<std::string> wanted{"coordinator", "trainer"};
  BOOST_TEST(names(role_groups(context({}, true))) == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_without_stage_and_trainer_has_no_roles) {
  BOOST_TEST(role_groups(context({}, false)).empty());
}

BOOST_AUTO_TEST_CASE(a_stage_role_is_five_actors_of_one_place_and_life) {
  sim::Swarm swarm;
  swarm.add_peer("a", 1);
  swarm.start("a");
  auto& process = *swarm.nodes.at("a").context;
  process.interpose = nullptr;
  const auto actors = spawn_stage_role(process, 0, 3);
  BOOST_TEST(actors.size() == 5u);
  for (Role role :
       {Role::kStage, Role::kCompute, Role::kCheckpointer, Role::kAverager, Role::kState})
    BOOST_TEST(actors.count(RoleName{role, 0, 3}) == 1u);
  for (const auto& [name, actor] : actors) caf::anon_send_exit(actor, caf::exit_reason::kill);
  swarm.system.run();
}

BOOST_AUTO_TEST_SUITE_END()
