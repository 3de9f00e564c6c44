/// A whole swarm of the real actors in one deterministic actor system: fake links, virtual time,
/// arithmetic stages, in-memory disks that survive their nodes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/averager.h"
#include "actors/checkpointer.h"
#include "actors/coordinator.h"
#include "actors/dht_node.h"
#include "actors/local.h"
#include "actors/requests.h"
#include "actors/stage_server.h"
#include "actors/trainer.h"
#include "tests/support/arithmetic_stage.h"
#include "tests/support/deterministic_system.h"
#include "tests/support/fake_links.h"
#include "tests/support/in_memory_checkpoint_store.h"

namespace swarm::test {

/// Sample s is a window whose tokens are all sample_value(s).
class FakeTextData : public tensor::TextData {
 public:
  explicit FakeTextData(int32_t sequence) : sequence_(sequence) {}
  int32_t sequence() const override { return sequence_; }
  uint64_t num_windows(tensor::Split) const override { return 1'000'000; }
  uint64_t size_bytes(tensor::Split) const override { return 1'000'000; }
  uint64_t fingerprint() const override { return 1; }
  void read(tensor::Split, uint64_t, uint64_t, uint8_t*) const override {}
  Buffer microbatch(tensor::Split, const std::vector<uint64_t>& samples) const override {
    std::string bytes;
    for (uint64_t sample : samples)
      for (int32_t t = 0; t <= sequence_; ++t) {
        int32_t value = sample_value(sample);
        bytes.append(reinterpret_cast<const char*>(&value), 4);
      }
    return Buffer::from_string(std::move(bytes));
  }

 private:
  int32_t sequence_;
};

/// Stands before a compute actor and lets every job take `delay` of virtual time, in order.
inline caf::behavior slow_compute(caf::event_based_actor* self, const caf::actor& compute,
                                  std::chrono::microseconds delay) {
  using actors::compute_atom;
  return {
      [=](compute_atom) { return self->delegate(compute, compute_atom::value); },
      [=](compute_atom, const actors::ComputeJob& job) -> caf::result<double> {
        auto promise = self->make_response_promise();
        self->delayed_send(self, delay, actors::run_later_atom::value,
                           actors::LocalTask([=]() mutable {
                             self->request(compute, caf::infinite, compute_atom::value, job)
                                 .then([=](double s) mutable { promise.deliver(s); },
                                       [=](const caf::error& e) mutable { promise.deliver(e); });
                           }));
        return promise;
      },
      [](actors::run_later_atom, const actors::LocalTask& task) { task(); },
  };
}

class SimSwarm {
 public:
  struct Node {
    NodeId id;
    uint16_t port = 0;
    int stage = -1;  ///< -1: a trainer node.
    std::vector<caf::actor> actors;
    ArithmeticStage* arithmetic = nullptr;  ///< Owned by the compute actor.
    bool alive = false;
  };

  actors::TrainingOptions training;
  actors::CheckpointOptions checkpoint;
  uint32_t num_stages = 3;
  std::shared_ptr<actors::MemoryEventLog> events = std::make_shared<actors::MemoryEventLog>();

  SimSwarm() : net(*system) {
    training.steps = 6;
    training.batch = 16;
    training.microbatch = 2;
    training.validation_samples = 4;
    checkpoint.every_steps = 2;
  }
  ~SimSwarm() {
    for (auto& [name, node] : nodes) stop(name);
    net.shut_down();
    system.run();
  }

  void add_peer(const std::string& name, int stage) {
    nodes[name].stage = stage;
    start(name);
  }
  void add_trainer(const std::string& name) { start(name); }

  /// Starts a node (again): a new identity on the old disk.
  void start(const std::string& name) {
    Node& node = nodes[name];
    node.id = next_id();
    node.port = next_port_++;
    node.alive = true;
    node.actors.clear();
    caf::actor links = net.add(node.id, name, node.port);
    Endpoint endpoint{"127.0.0.1", node.port};
    std::vector<Endpoint> join;
    for (const auto& [other_name, other] : nodes)
      if (other.alive && other_name != name) join.push_back({"127.0.0.1", other.port});
    caf::actor dht =
        actors::spawn_dht_node(*system, {node.id, endpoint, links, dht_options, "run", join});
    node.actors.push_back(dht);
    if (node.stage >= 0)
      start_stage(name, node, endpoint, links, dht);
    else
      start_trainer(name, node, endpoint, links, dht);
  }

  /// kill -9: mail in flight is lost, links break, memory is gone, the disk stays.
  void kill(const std::string& name) {
    net.kill(nodes.at(name).id);
    stop(name);
  }

  bool finished() const { return events->count("finished") > 0; }
  bool run_to_end(std::chrono::seconds limit = std::chrono::seconds(120)) {
    return system.advance_until([this] { return finished(); }, limit,
                                std::chrono::milliseconds(10));
  }
  /// Until a step with this number was committed.
  bool run_to_step(uint64_t step, std::chrono::seconds limit = std::chrono::seconds(60)) {
    return system.advance_until(
        [this, step] {
          for (const auto& line : events->steps)
            if (line.step >= step) return true;
          return false;
        },
        limit, std::chrono::microseconds(100));
  }

  /// Every living replica has exactly the parameters of a run without failures.
  std::string check_parameters() const {
    for (const auto& [name, node] : nodes) {
      if (!node.alive || node.stage < 0) continue;
      if (node.arithmetic == nullptr) return name + " has no stage";
      uint64_t step = node.arithmetic->step();
      if (step != training.steps) continue;  // still catching up; others were checked
      auto expected = expected_parameters(static_cast<uint32_t>(node.stage), step, training.batch);
      if (node.arithmetic->parameters() != expected) return name + " has other parameters";
      ++checked;
    }
    return "";
  }
  mutable int checked = 0;

  DeterministicSystem system;
  FakeNetwork net;
  std::map<std::string, Node> nodes;
  std::map<std::string, std::shared_ptr<swarm::testing::InMemoryCheckpointStore>> disks;
  actors::DhtOptions dht_options;
  actors::FaultOptions faults;

 private:
  NodeId next_id() {
    NodeId id;
    uint64_t x = ++ids_ * 0x9e3779b97f4a7c15ull;
    for (size_t i = 0; i < id.bytes.size(); ++i) {
      x ^= x >> 29;
      x *= 0xbf58476d1ce4e5b9ull;
      id.bytes[i] = static_cast<uint8_t>(x >> 56);
    }
    return id;
  }

  void start_stage(const std::string& name, Node& node, const Endpoint& endpoint,
                   const caf::actor& links, const caf::actor& dht) {
    auto& disk = disks[name];
    if (!disk) disk = std::make_shared<swarm::testing::InMemoryCheckpointStore>();
    actors::StageServerDeps deps;
    deps.id = {node.id, "stage.0"};
    deps.endpoint = endpoint;
    deps.node_name = name;
    deps.stage = static_cast<uint32_t>(node.stage);
    deps.num_stages = num_stages;
    deps.sequence = 4;
    deps.optimizer.clip_norm = 0;
    deps.dht_options = dht_options;
    deps.faults = faults;
    deps.links = links;
    deps.dht = dht;
    deps.events = events;
    caf::actor compute = actors::spawn_compute(
        *system,
        [this, name, stage = deps.stage]() -> Result<std::unique_ptr<tensor::Stage>> {
          auto made = std::make_unique<ArithmeticStage>(stage, num_stages, 4);
          nodes[name].arithmetic = made.get();
          return std::unique_ptr<tensor::Stage>(std::move(made));
        },
        /*detached=*/false);
    deps.compute = system->spawn(slow_compute, compute, std::chrono::microseconds(1'000));
    node.actors.push_back(compute);
    deps.checkpointer = actors::spawn_checkpointer(*system, disk, 3, /*detached=*/false);
    actors::AveragerDeps averager;
    averager.id = actors::averager_of(deps.id);
    averager.links = links;
    averager.store = disk;
    averager.stage = deps.stage;
    averager.detached = false;
    deps.averager = actors::spawn_averager(*system, std::move(averager));
    node.actors.insert(node.actors.end(), {deps.compute, deps.checkpointer, deps.averager});
    node.actors.push_back(actors::spawn_stage_server(*system, deps));
  }

  void start_trainer(const std::string& name, Node& node, const Endpoint& endpoint,
                     const caf::actor& links, const caf::actor& dht) {
    actors::CoordinatorDeps coordinator;
    coordinator.id = {node.id, "coordinator"};
    coordinator.endpoint = endpoint;
    coordinator.node_name = name;
    coordinator.num_stages = num_stages;
    coordinator.sequence = 4;
    coordinator.training = training;
    coordinator.checkpoint = checkpoint;
    coordinator.dht_options = dht_options;
    coordinator.links = links;
    coordinator.dht = dht;
    coordinator.events = events;
    node.actors.push_back(actors::spawn_coordinator(*system, coordinator));
    actors::TrainerDeps trainer;
    trainer.id = {node.id, "trainer"};
    trainer.endpoint = endpoint;
    trainer.node_name = name;
    trainer.num_stages = num_stages;
    trainer.training = training;
    trainer.dht_options = dht_options;
    trainer.data = std::make_shared<FakeTextData>(4);
    trainer.links = links;
    trainer.dht = dht;
    trainer.events = events;
    node.actors.push_back(actors::spawn_trainer(*system, trainer));
  }

  void stop(const std::string& name) {
    Node& node = nodes.at(name);
    for (auto it = node.actors.rbegin(); it != node.actors.rend(); ++it)
      caf::anon_send_exit(*it, caf::exit_reason::kill);
    node.actors.clear();
    node.arithmetic = nullptr;
    node.alive = false;
    system.run();
  }

  uint64_t ids_ = 0;
  uint16_t next_port_ = 1000;
};

}  // namespace swarm::test
