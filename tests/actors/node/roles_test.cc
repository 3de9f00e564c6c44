#include "actors/node/roles.h"

#include <boost/test/unit_test.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <memory>

#include "actors/net/links/links.h"
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

BOOST_AUTO_TEST_CASE(a_node_with_a_role_and_a_disk_for_it_has_one_voter) {
  const auto with_disk = [](std::vector<int32_t> stages, bool trainer) {
    auto out = context(std::move(stages), trainer);
    out->voter_disk = voter_file("/nowhere", nullptr);
    return names(role_groups(out));
  };
  const std::vector<std::string> serves{"voter", "stage.0", "stage.1"};
  const std::vector<std::string> trains{"voter", "coordinator", "trainer"};
  BOOST_TEST(with_disk({2, 5}, false) == serves, boost::test_tools::per_element());
  BOOST_TEST(with_disk({}, true) == trains, boost::test_tools::per_element());
  BOOST_TEST(with_disk({}, false).empty());
}

BOOST_AUTO_TEST_CASE(a_voter_keeps_its_name_in_its_next_life) {
  sim::Swarm swarm;
  swarm.add_peer("a", 0);
  swarm.start("a");
  auto& node = swarm.nodes.at("a");
  const auto memory = std::make_shared<VoterMemory>();
  const auto actors = spawn_voter_role(*node.context, 2, memory);
  BOOST_TEST(actors.count(RoleName{Role::kVoter, 0, 2}) == 1u);
  swarm.system.run();
  BOOST_TEST(memory->has_value());
  caf::scoped_actor self(*swarm.system);
  auto handle = self->request(node.context->links, caf::infinite, resolve_atom::value,
                              ActorId{node.id, kVoterName}, Endpoint{});
  swarm.system.run();
  handle.receive([&](const caf::actor& found) { BOOST_TEST((found == actors.begin()->second)); },
                 [](const caf::error& error) { BOOST_ERROR(caf::to_string(error)); });
  caf::anon_send_exit(actors.begin()->second, caf::exit_reason::kill);
  swarm.system.run();
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

BOOST_AUTO_TEST_CASE(a_place_without_a_stage_is_one_actor_that_waits_for_one) {
  sim::Swarm swarm;
  swarm.add_peer("a", kAnyStage);
  swarm.start("a");
  auto& node = swarm.nodes.at("a");
  BOOST_TEST(swarm.describe(node.stage_server).find("waits for a stage") == 0u);
  const auto actors = spawn_stage_role(*node.context, 0, 3);
  BOOST_TEST(actors.size() == 1u);
  BOOST_TEST(actors.count(RoleName{Role::kStage, 0, 3}) == 1u);
  caf::anon_send_exit(actors.begin()->second, caf::exit_reason::kill);
  swarm.system.run();
}

BOOST_AUTO_TEST_SUITE_END()
