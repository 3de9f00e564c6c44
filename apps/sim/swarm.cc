#include "apps/sim/swarm.h"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "actors/averaging/averager.h"
#include "actors/coordinator/coordinator.h"
#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/stage/stage_server.h"
#include "actors/state/checkpointer.h"
#include "actors/trainer/trainer.h"
#include "apps/sim/machines.h"
#include "common/mix.h"

namespace swarm::sim {
namespace {

constexpr int32_t kSequence = 4;

/// Passes on what one process of a node records, as long as it runs.
class NodeLog : public actors::EventLog {
 public:
  NodeLog(std::string node, std::shared_ptr<bool> running, const SwarmObserver& observer)
      : node_(std::move(node)), running_(std::move(running)), observer_(observer) {}
  void record(const actors::Event& event) override {
    if (*running_ && observer_.event) observer_.event(node_, event);
  }
  void metrics(const actors::StepMetrics& line) override {
    if (*running_ && observer_.metrics) observer_.metrics(node_, line);
  }
  void closed(const actors::ClosedStep& step) override {
    if (*running_ && observer_.closed) observer_.closed(node_, step);
  }
  void committed(const actors::CommittedStep& step) override {
    if (*running_ && observer_.committed) observer_.committed(node_, step);
  }
  void loaded(const actors::LoadedState& state) override {
    if (*running_ && observer_.loaded) observer_.loaded(node_, state);
  }

 private:
  std::string node_;
  std::shared_ptr<bool> running_;
  const SwarmObserver& observer_;
};

}  // namespace

struct Swarm::Process {
  std::string name;
  Endpoint endpoint;
  caf::actor links, dht;
  std::shared_ptr<actors::EventLog> events;
};

Swarm::Swarm() : net(*system) {}

Swarm::~Swarm() {
  for (auto& [name, node] : nodes) {
    system.thaw(node.owner);
    stop(node);
  }
  net.shut_down();
  system.run();
}

void Swarm::add_peer(const std::string& name, int stage, const MachineTimes& times) {
  nodes[name].stage = stage;
  nodes[name].times = times;
}

void Swarm::add_trainer(const std::string& name) { nodes[name].stage = -1; }

NodeId Swarm::next_id() {
  NodeId id;
  uint64_t x = ++ids_ * kSplitMixStep;
  for (unsigned char& byte : id.bytes) {
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    byte = static_cast<uint8_t>(x >> 56);
  }
  return id;
}

void Swarm::start(const std::string& name) {
  Node& node = nodes[name];
  node.id = next_id();
  if (node.port == 0) node.port = next_port_++;
  node.alive = true;
  node.paused = false;
  node.owner = next_owner_++;
  node.running = std::make_shared<bool>(true);
  node.restarts = 0;
  system.as(node.owner, [&] {
    auto shared = std::make_shared<Process>();
    Process& process = *shared;
    node.process = shared;
    process.name = name;
    process.endpoint = {"127.0.0.1", node.port};
    process.links = net.add(node.id, name, node.port);
    process.events = std::make_shared<NodeLog>(name, node.running, observer);
    std::vector<Endpoint> join;
    for (const auto& [other_name, other] : nodes)
      if (other.port != 0 && other_name != name) join.push_back({"127.0.0.1", other.port});
    process.dht = actors::spawn_dht_node(
        *system, {node.id, process.endpoint, process.links, dht_options, "run", join});
    node.actors.push_back(process.dht);
    if (node.stage >= 0)
      start_stage(process, node);
    else {
      start_coordinator(process, node);
      start_trainer(process, node);
    }
  });
}

caf::actor Swarm::start_compute(const Process& process, Node& node) {
  const auto stage = static_cast<uint32_t>(node.stage);
  auto changed = [this, name = process.name, running = node.running](const ArithmeticStage& of,
                                                                     const char* how) {
    if (*running && observer.parameters) observer.parameters(name, of, how);
  };
  auto noted = [this, name = process.name, running = node.running](const ArithmeticStage& of,
                                                                   const StageNote& note) {
    if (*running && observer.noted) observer.noted(name, of, note);
  };
  auto make = [this, name = process.name, running = node.running, changed, noted, stage,
               noise = ids_ * 7919]() -> Result<std::unique_ptr<tensor::Stage>> {
    auto made =
        std::make_unique<ArithmeticStage>(stage, num_stages, kSequence, changed, noise, noted);
    if (*running) nodes[name].arithmetic = made.get();
    return std::unique_ptr<tensor::Stage>(std::move(made));
  };
  caf::actor compute = actors::spawn_compute(*system, make, /*detached=*/false);
  caf::actor slow = system->spawn(slow_compute, compute, node.times.compute);
  node.actors.insert(node.actors.end(), {compute, slow});
  return slow;
}

caf::actor Swarm::start_checkpointer(const Process& process, Node& node,
                                     const std::shared_ptr<Disk>& disk) {
  auto noted = [this, name = process.name, running = node.running](const std::string& stream,
                                                                   uint64_t step, bool dropped) {
    if (*running && observer.snapshot) observer.snapshot(name, stream, step, dropped);
  };
  caf::actor checkpointer =
      actors::spawn_checkpointer(*system, node.store, checkpoint.keep, /*detached=*/false);
  caf::actor slow =
      system->spawn(slow_disk, checkpointer, disk, node.times.fsync, SnapshotNoted(noted));
  node.actors.insert(node.actors.end(), {checkpointer, slow});
  return slow;
}

caf::actor Swarm::start_averager(const Process& process, Node& node, const ActorId& stage_server) {
  actors::AveragerDeps averager;
  averager.id = actors::averager_of(stage_server);
  averager.links = process.links;
  averager.store = node.store;
  averager.stage = static_cast<uint32_t>(node.stage);
  averager.options = averager_options;
  averager.detached = false;
  node.actors.push_back(actors::spawn_averager(*system, std::move(averager)));
  return node.actors.back();
}

void Swarm::start_stage(const Process& process, Node& node) {
  auto& disk = disks[process.name];
  if (!disk) disk = std::make_shared<Disk>();
  node.store = std::make_shared<DiskStore>(disk);
  actors::StageServerDeps deps;
  deps.id = {node.id, "stage.0"};
  if (node.restarts > 0) deps.id.actor += "." + std::to_string(node.restarts);
  deps.endpoint = process.endpoint;
  deps.node_name = process.name;
  deps.stage = static_cast<uint32_t>(node.stage);
  deps.num_stages = num_stages;
  deps.sequence = kSequence;
  deps.optimizer.clip_norm = 0;
  deps.options = stage_options;
  deps.dht_options = dht_options;
  deps.faults = faults;
  deps.training = training;
  deps.links = process.links;
  deps.dht = process.dht;
  deps.events = process.events;
  deps.compute = start_compute(process, node);
  deps.checkpointer = start_checkpointer(process, node, disk);
  deps.averager = start_averager(process, node, deps.id);
  node.stage_server = actors::spawn_stage_server(*system, deps);
  node.actors.push_back(node.stage_server);
}

void Swarm::start_coordinator(const Process& process, Node& node) {
  actors::CoordinatorDeps coordinator;
  coordinator.id = {node.id, "coordinator"};
  coordinator.endpoint = process.endpoint;
  coordinator.node_name = process.name;
  coordinator.num_stages = num_stages;
  coordinator.sequence = kSequence;
  coordinator.training = training;
  coordinator.checkpoint = checkpoint;
  coordinator.dht_options = dht_options;
  coordinator.links = process.links;
  coordinator.dht = process.dht;
  coordinator.events = process.events;
  node.actors.push_back(actors::spawn_coordinator(*system, coordinator));
}

void Swarm::start_trainer(const Process& process, Node& node) {
  actors::TrainerDeps trainer;
  trainer.id = {node.id, "trainer"};
  if (node.restarts > 0) trainer.id.actor += "." + std::to_string(node.restarts);
  trainer.endpoint = process.endpoint;
  trainer.node_name = process.name;
  trainer.num_stages = num_stages;
  trainer.training = training;
  trainer.dht_options = dht_options;
  trainer.data = std::make_shared<FakeTextData>(kSequence);
  trainer.links = process.links;
  trainer.dht = process.dht;
  trainer.events = process.events;
  node.actors.push_back(actors::spawn_trainer(*system, trainer));
}

std::string Swarm::kill(const std::string& name, bool silently) {
  Node& node = nodes.at(name);
  if (!node.alive) return "";
  net.kill(node.id, silently);
  *node.running = false;
  std::string lost;
  if (node.store) {
    node.store->close();
    lost = disks.at(name)->crash(disk_random);
  }
  system.thaw(node.owner);
  stop(node);
  return lost;
}

void Swarm::stop(Node& node) {
  if (node.running) *node.running = false;
  for (auto it = node.actors.rbegin(); it != node.actors.rend(); ++it)
    caf::anon_send_exit(*it, caf::exit_reason::kill);
  node.actors.clear();
  node.stage_server = nullptr;
  node.arithmetic = nullptr;
  node.alive = node.paused = false;
  system.run();
}

void Swarm::restart_role(const std::string& name) {
  Node& node = nodes.at(name);
  const bool trains = node.stage < 0;
  if (!trains) node.store->close();
  while (node.actors.size() > (trains ? 2 : 1)) {  // behind the DHT's, and the coordinator's
    caf::anon_send_exit(node.actors.back(), caf::exit_reason::kill);
    node.actors.pop_back();
  }
  node.arithmetic = nullptr;
  system.run();
  ++node.restarts;
  system.as(node.owner, [&] {
    if (trains)
      start_trainer(*node.process, node);
    else
      start_stage(*node.process, node);
  });
}

void Swarm::pause(const std::string& name) {
  Node& node = nodes.at(name);
  if (!node.alive || node.paused) return;
  node.paused = true;
  system.freeze(node.owner);
  net.pause(node.id);
}

void Swarm::resume(const std::string& name) {
  Node& node = nodes.at(name);
  if (!node.paused) return;
  node.paused = false;
  net.resume(node.id);
  system.thaw(node.owner);
}

void Swarm::cut(const std::string& from, const std::string& to) {
  net.cut(nodes.at(from).id, nodes.at(to).id);
}

std::string Swarm::describe(const caf::actor& actor) {
  auto text = std::make_shared<std::string>();
  system->spawn([=](caf::event_based_actor* self) {
    self->request(actor, caf::infinite, actors::describe_atom::value)
        .then([=](const std::string& answer) { *text = answer; }, [](const caf::error&) {});
  });
  system.run();
  return *text;
}

}  // namespace swarm::sim
