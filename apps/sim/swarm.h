/// A whole swarm of the real actors in one deterministic actor system: fake links, virtual time,
/// arithmetic stages, disks that outlive their nodes. Nothing is drawn by chance here; what may be
/// drawn comes in through the seed of the network's model and of the disks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/node/event_log.h"
#include "actors/node/options.h"
#include "actors/node/roles.h"
#include "apps/sim/arithmetic_stage.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/disk.h"
#include "apps/sim/network.h"
#include "records/kept_stages.h"

namespace swarm::sim {

/// What each simulated machine costs in virtual time, and what it computes.
struct MachineTimes {
  std::chrono::nanoseconds compute = std::chrono::milliseconds(1);  ///< Per job of a stage.
  std::chrono::nanoseconds fsync{0};  ///< From a write to its acknowledgement.
  uint64_t parameters = kParameters;  ///< Of its stage; the same for all replicas.
  std::chrono::nanoseconds pass{0};   ///< Each forward or backward pass in a job, besides.
  std::chrono::nanoseconds read{0};   ///< Of a snapshot, or of a block of ranges, from its disk.
};

/// Told of everything that can be seen from outside. Called from within actors: do not act on the
/// swarm here, note it down.
struct SwarmObserver {
  std::function<void(const std::string& node, const records::Event&)> event;
  std::function<void(const std::string& node, const records::StepMetrics&)> metrics;
  std::function<void(const std::string& node, const records::ClosedStep&)> closed;
  std::function<void(const std::string& node, const records::CommittedStep&)> committed;
  std::function<void(const std::string& node, const records::LoadedState&)> loaded;
  std::function<void(const std::string& node, const ArithmeticStage&, const char* how)> parameters;
  std::function<void(const std::string& node, const ArithmeticStage&, const StageNote&)> noted;
  /// A snapshot was acknowledged as durable (`dropped` false), or all newer ones are to go.
  std::function<void(const std::string& node, const std::string& stream, uint64_t step,
                     bool dropped)>
      snapshot;
  /// A peer has left its stage for another one at the coordinator's word. -1: it waited for one.
  std::function<void(const std::string& node, int from, int to)> moved;
};

/// What lies on a machine's disk of the run's text.
struct MachineText {
  uint64_t fingerprint = 1;  ///< Of the text that its trainer reads.
  /// What its node was told; shared with the node's roles.
  std::shared_ptr<records::KeptText> kept = std::make_shared<records::KeptText>();
};

/// Gradients that a peer finds not finite.
struct NotFinite {
  int next = 0;                           ///< So many of the next.
  std::set<std::pair<Step, Slot>> slots;  ///< These, whenever.
  uint64_t found = 0;
};

/// Of each step a slot is left that no machine spoils: else the model has diverged, and a run that says
/// so is right to end.
class SpoiltSlots {
 public:
  /// Whether this one may be not finite, of so many in its step.
  bool may(const std::pair<Step, Slot>& slot, size_t slots) {
    auto& known = by_step_[slot.first];
    if (known.size() + 1 < slots) known.insert(slot.second);
    return known.count(slot.second) != 0;
  }

 private:
  std::map<Step, std::set<Slot>> by_step_;
};

class Swarm {
 public:
  struct Node {
    NodeId id;
    uint16_t port = 0;
    int stage = -1;     ///< That it serves; -1: a trainer node, or it waits for one.
    int at_first = -1;  ///< That it was told to serve.
    /// Of a peer, null on trainer nodes: what its disk says, of this process.
    std::shared_ptr<records::KeptStages> serves;
    /// Stages that it once had in memory only, and lost while its disk took nothing, or slowly.
    std::set<int> lost_unsaved;
    bool alive = false;
    bool paused = false;
    bool drains = false;  ///< This process was told to leave.
    std::vector<caf::actor> actors;
    caf::actor stage_server;                ///< Null on trainer nodes.
    caf::actor voter;                       ///< Its process's one, whatever its roles do.
    ArithmeticStage* arithmetic = nullptr;  ///< Owned by the compute actor.
    DeterministicSystem::Owner owner = DeterministicSystem::kNobody;
    MachineTimes times;
    LinkRates rates;                   ///< Of the machine: they outlive its processes.
    std::chrono::nanoseconds away{0};  ///< Likewise.
    std::shared_ptr<bool> running;     ///< False when this process of the node is gone.
    std::shared_ptr<DiskStore> store;
    std::shared_ptr<actors::RoleContext> context;  ///< Of this process.
    NotFinite not_finite;                          ///< Of the machine.
    int restarts = 0;                              ///< Of the role's actors, in this process.

    bool trains() const { return serves == nullptr; }
  };

  Swarm();
  ~Swarm();

  // Before the first start.
  actors::TrainingOptions training;
  actors::CheckpointOptions checkpoint;
  actors::DhtOptions dht_options;
  actors::StageServerOptions stage_options;
  actors::TrainerOptions trainer_options;
  actors::CoordinatorOptions coordinator_options;
  actors::AveragerOptions averager_options;
  actors::StateTransferOptions state_transfer_options;
  actors::FaultOptions faults;
  uint32_t num_stages = 3;
  struct Limits {
    /// Nodes that one is told to join, of those that have ever started. All know all in a small swarm.
    size_t max_join = SIZE_MAX;
    double drain_s = 25;
    int rounding_bits = 16;  ///< As ArithmeticStage::rounding_bits.
    SpoiltSlots spoilt;
  };
  Limits limits;
  SwarmObserver observer;

  /// `stage`: at first; actors::kAnyStage: none.
  void add_peer(const std::string& name, int stage, const MachineTimes& times = {});
  void add_trainer(const std::string& name);
  /// Starts a node (again): a new identity on the old disk and port.
  void start(const std::string& name);
  /// kill -9: mail in flight is lost, links break, memory is gone, the disk stays but for what was
  /// not synced. Returns what became of that. `silently`: see FakeNetwork::kill.
  std::string kill(const std::string& name, bool silently = false);
  /// An actor of its stage, or its trainer, has failed: the supervisor starts that role's actors
  /// anew. The process, its links and its disk go on. `moves`: its stage server has ended, because it is to serve
  /// another stage; else not from within an actor.
  void restart_role(const std::string& name, bool moves = false);
  /// SIGTERM: the node's roles leave in order; `done` is called when they have, or cannot. The process
  /// goes on until it is killed. Not while paused.
  void drain(const std::string& name, const std::function<void()>& done);
  /// Somebody sends all coordinators, or those on these nodes, an order; nobody waits for the answer.
  void order(const actors::Mail& mail, const std::set<std::string>& only = {});
  /// SIGSTOP and SIGCONT: what the node would do meanwhile happens later.
  void pause(const std::string& name);
  void resume(const std::string& name);
  /// What `from` sends to `to` no longer arrives.
  void cut(const std::string& from, const std::string& to);
  /// What the machine sends and receives takes time from now on. Needs a model of the network.
  void set_rates(const std::string& name, const LinkRates& rates);
  /// The machine is so much further away from all others, one way. Needs a model of the network.
  void set_distance(const std::string& name, std::chrono::nanoseconds away);
  /// As set_rates(), for what `from` sends to `to`.
  void set_pair_rate(const std::string& from, const std::string& to, double bytes_per_s);
  /// Bytes take no time any more.
  void lift_rates();

  /// The text that an actor shows on the console; "" when it does not answer at once.
  std::string describe(const caf::actor& actor);

  DeterministicSystem system;
  FakeNetwork net;
  Random disk_random{1};
  std::map<std::string, Node> nodes;
  std::map<std::string, std::shared_ptr<Disk>> disks;  ///< By node, once it has started.
  std::map<std::string, MachineText> texts;            ///< By node; may be changed before a start.

 private:
  void lose_memory(Node& node);
  NodeId next_id();
  using StageMaker =
      std::function<Result<std::unique_ptr<tensor::Stage>>(const tensor::StageOptions&)>;
  actors::NodeOptions node_options(const std::string& name) const;
  StageMaker stage_maker(const std::string& name, const Node& node);
  std::vector<Endpoint> join_list(const std::string& name) const;
  void restore_rates(const std::string& name);
  void start_stage(Node& node);
  void start_trainer(Node& node);
  void start_voter(Node& node);
  void stop(Node& node);

  std::map<std::pair<std::string, std::string>, double> pair_rates_;
  struct Numbers {  ///< Drawn so far, or next.
    uint64_t ids = 0;
    uint16_t port = 1000;
    DeterministicSystem::Owner owner = 1;
  };
  Numbers numbers_;
};

}  // namespace swarm::sim
