/// A stage server that has no room, on links with real frames: its node refuses a microbatch before
/// the body is read.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/node/roles.h"
#include "apps/sim/arithmetic_stage.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/disk.h"
#include "apps/sim/machines.h"
#include "apps/sim/voter_on_disk.h"
#include "tests/support/memory_network.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;
using actors::NodeOptions;

constexpr int32_t kSequence = 4;

/// A trainer and a peer for each of two stages.
struct FramedSwarm {
  struct Node {
    actors::RoleContext context;
    caf::actor stage_server;
  };

  actors::MemoryNetwork network;
  sim::DeterministicSystem system;
  std::map<std::string, Node> nodes;
  uint8_t numbers = 0;

  NodeOptions options(const std::string& name) {
    NodeOptions options;
    options.name = name;
    options.run_id = "run";
    options.num_stages = 2;
    options.model.sequence = kSequence;
    options.model.layers = 2;  // with a block a stage, only what came is kept
    options.optimizer.clip_norm = 0;
    options.training.microbatch = 8;
    options.training.batch = 64;
    options.training.validation_samples = 8;
    options.checkpoint.every_steps = 0;
    options.trainer_options.max_in_flight = 4;
    return options;
  }

  actors::RoleContext& start(const NodeOptions& options) {
    auto& context = nodes[options.name].context;
    context.system = &*system;
    context.options = options;
    context.node.bytes[0] = ++numbers;
    context.endpoint = {"10.0.0." + std::to_string(numbers), 1};
    actors::LinksOptions links;
    links.node_id = context.node;
    links.node_name = options.name;
    links.run_id = options.run_id;
    links.listen = context.endpoint;
    context.links = system.own(actors::spawn_memory_links(*system, links, network));
    context.events = std::make_shared<records::MemoryEventLog>();
    context.data = std::make_shared<sim::FakeTextData>(kSequence);
    context.own_text = {1, "text", options.name};
    context.detached = false;
    std::vector<Endpoint> join;
    if (options.name != "trainer") join.push_back({"10.0.0.1", 1});  // who was started first
    context.dht =
        system.own(actors::spawn_dht_node(*system, {context.node, context.endpoint, context.links,
                                                    options.dht, options.run_id, join}));
    context.voter_disk = std::make_shared<sim::VoterOnDisk>(std::make_shared<sim::Disk>(),
                                                            std::make_shared<bool>(true));
    const auto memory = std::make_shared<actors::VoterMemory>();
    for (const auto& [role, actor] : actors::spawn_voter_role(context, 0, memory))
      system.own(actor);
    return context;
  }

  void start_trainer() {
    auto& context = start(options("trainer"));
    for (const auto& [role, actor] : actors::spawn_coordinator_role(context, 0)) system.own(actor);
    for (const auto& [role, actor] : actors::spawn_trainer_role(context, 0)) system.own(actor);
  }

  void start_peer(int32_t stage, uint32_t max_resident, std::chrono::nanoseconds pass,
                  uint64_t resident_bytes = 1u << 30) {
    auto own = options("stage" + std::to_string(stage));
    own.stages = {stage};
    own.backward = tensor::BackwardPolicy::kRecompute;
    own.stage_server.max_resident = max_resident;
    own.stage_server.resident_bytes = resident_bytes;
    auto& context = start(own);
    context.store = std::make_shared<sim::DiskStore>(std::make_shared<sim::Disk>(), true);
    context.make_stage =
        [](const tensor::StageOptions& made) -> Result<std::unique_ptr<tensor::Stage>> {
      return std::unique_ptr<tensor::Stage>(
          std::make_unique<sim::ArithmeticStage>(static_cast<uint32_t>(made.stage)));
    };
    context.interpose = [this, pass](Role role, const caf::actor& actor) {
      system.own(actor);
      return role == Role::kCompute
                 ? system.own(system->spawn(sim::slow_compute, actor, sim::ComputeTimes{pass, {}}))
                 : actor;
    };
    const RoleName server{Role::kStage, 0, 0};
    const auto role = actors::spawn_stage_role(context, 0, 0);
    for (const auto& [name, actor] : role) system.own(actor);
    nodes[own.name].stage_server = role.at(server);
  }

  std::string describe(const std::string& name) {
    auto text = std::make_shared<std::string>();
    system->spawn([=, actor = nodes.at(name).stage_server](caf::event_based_actor* self) {
      self->request(actor, caf::infinite, actors::describe_atom::value)
          .then([=](const std::string& answer) { *text = answer; }, [](const caf::error&) {});
    });
    system.run();
    return *text;
  }
  bool says(const std::string& name, const std::string& words) {
    return describe(name).find(words) != std::string::npos;
  }
};

BOOST_AUTO_TEST_SUITE(AdmissionOnLinks)

// The links were told before the actor had a name, so they let everything through.
BOOST_AUTO_TEST_CASE(a_full_peer_never_sees_what_its_links_refuse) {
  FramedSwarm swarm;
  swarm.start_trainer();
  swarm.start_peer(0, 8, 10ms);
  swarm.start_peer(1, 1, 10s);  // one place, taken for long
  BOOST_REQUIRE(swarm.system.advance_until([&] { return swarm.says("stage1", "resident 1 of 1"); },
                                           200s, 50ms));
  swarm.system.advance(2s);
  BOOST_TEST(swarm.says("stage1", "forwards 1, refused 0,"), swarm.describe("stage1"));
  BOOST_TEST(swarm.says("stage0", "peers of stage 1: 1, in flight 4"), swarm.describe("stage0"));
  BOOST_TEST(
      swarm.system.advance_until([&] { return swarm.says("stage1", "forwards 2"); }, 120s, 100ms));
}

// Tokens bring no body: until the first forward was done any number was taken at no bytes.
BOOST_AUTO_TEST_CASE(the_first_stage_books_what_it_will_send_before_it_has_sent_any) {
  FramedSwarm swarm;
  swarm.start_trainer();
  const uint64_t each = 8 * kSequence * 256 * sizeof(float);  // activations of the default width
  swarm.start_peer(0, 256, 10s, 2 * each + each / 2);
  swarm.start_peer(1, 256, 10ms);
  BOOST_TEST(swarm.system.advance_until([&] { return swarm.says("stage0", "resident 2 of 256"); },
                                        200s, 50ms),
             swarm.describe("stage0"));
  swarm.system.advance(5s);
  BOOST_TEST(swarm.says("stage0", "resident 2 of 256"), swarm.describe("stage0"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
