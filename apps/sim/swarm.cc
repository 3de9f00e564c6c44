#include "apps/sim/swarm.h"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "actors/dht/dht_node.h"
#include "actors/net/local.h"
#include "actors/net/mail.h"
#include "actors/net/requests.h"
#include "actors/node/call_back.h"
#include "apps/sim/machines.h"
#include "apps/sim/voter_on_disk.h"
#include "common/mix.h"
#include "common/names.h"

namespace swarm::sim {
namespace {

constexpr int32_t kSequence = 4;
/// Among a trainer node's actors: behind the DHT's and who calls back; a peer's roles are from there on.
constexpr size_t kCoordinator = 2;
/// Of somebody outside who has given an order.
constexpr std::chrono::seconds kPatience{60};

/// Passes on what one process of a node records, as long as it runs.
class NodeLog : public records::EventLog {
 public:
  NodeLog(std::string node, std::shared_ptr<bool> running, const SwarmObserver& observer)
      : node_(std::move(node)), running_(std::move(running)), observer_(observer) {}
  void write(const records::Event& event) override {
    if (*running_ && observer_.event) observer_.event(node_, event);
  }
  void metrics(const records::StepMetrics& line) override {
    if (*running_ && observer_.metrics) observer_.metrics(node_, line);
  }
  void closed(const records::ClosedStep& step) override {
    if (*running_ && observer_.closed) observer_.closed(node_, step);
  }
  void committed(const records::CommittedStep& step) override {
    if (*running_ && observer_.committed) observer_.committed(node_, step);
  }
  void loaded(const records::LoadedState& state) override {
    if (*running_ && observer_.loaded) observer_.loaded(node_, state);
  }

 private:
  std::string node_;
  std::shared_ptr<bool> running_;
  const SwarmObserver& observer_;
};

bool is_not_finite(NotFinite& machine, const std::pair<Step, Slot>& slot, size_t slots,
                   SpoiltSlots& spoilt) {
  const bool meant = machine.slots.count(slot) != 0;
  const bool found = (meant || machine.next > 0) && spoilt.may(slot, slots);
  if (found && !meant) --machine.next;
  machine.found += found ? 1 : 0;
  return found;
}

}  // namespace

/// Each replica reduces its few parameters. Nobody moves or copies: the mail would give all seeds other runs.
Swarm::Swarm() : net(*system) {
  averager_options.min_part_elements = 1;
  coordinator_options.placement.moves = false;
  coordinator_options.placement.gone_after = {};
  checkpoint.copies = 0;
}

Swarm::~Swarm() {
  for (auto& [name, node] : nodes) {
    system.thaw(node.owner);
    stop(node);
  }
  net.shut_down();
  system.run();
}

void Swarm::add_peer(const std::string& name, int stage, const MachineTimes& times) {
  nodes[name].serves = std::make_shared<records::KeptStages>(std::vector<int32_t>{stage});
  nodes[name].stage = nodes[name].at_first = stage;
  nodes[name].times = times;
}

void Swarm::add_trainer(const std::string& name) { nodes[name].stage = -1; }

NodeId Swarm::next_id() {
  NodeId id;
  uint64_t x = ++numbers_.ids * kSplitMixStep;
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
  if (node.port == 0) node.port = numbers_.port++;
  node.alive = true;
  node.paused = node.drains = false;
  node.owner = numbers_.owner++;
  node.running = std::make_shared<bool>(true);
  node.restarts = 0;
  auto& disk = disks[name];
  if (!disk) disk = std::make_shared<Disk>();
  if (node.serves)
    node.serves = std::make_shared<records::KeptStages>(
        std::vector<int32_t>{disk->serves().value_or(node.at_first)});
  system.as(node.owner, [&] {
    node.context = std::make_shared<actors::RoleContext>();
    auto& context = *node.context;
    context.system = &*system;
    context.options = node_options(name);
    context.serves = node.serves;
    context.node = node.id;
    context.endpoint = {"127.0.0.1", node.port};
    context.links = net.add(node.id, name, node.port);
    context.events = std::make_shared<NodeLog>(name, node.running, observer);
    context.data = std::make_shared<FakeTextData>(kSequence);
    context.own_text = {texts[name].fingerprint, "text of " + name, name};
    context.text = texts[name].kept;
    context.detached = false;
    restore_rates(name);
    context.dht =
        actors::spawn_dht_node(*system, {node.id, context.endpoint, context.links, dht_options,
                                         context.options.run_id, join_list(name)});
    node.actors.push_back(context.dht);
    actors::CallBackDeps call_back{node.id, context.endpoint, context.links, context.dht};
    node.actors.push_back(actors::spawn_call_back(*system, std::move(call_back)));
    start_voter(node);
    if (node.serves) return start_stage(node);
    for (const auto& [role, actor] : actors::spawn_coordinator_role(context, 0))
      node.actors.push_back(actor);
    start_trainer(node);
  });
}

/// With a limit: evenly spread over the others, beginning at another place for each node, so that
/// none of them is everybody's.
std::vector<Endpoint> Swarm::join_list(const std::string& name) const {
  std::vector<Endpoint> others;
  size_t own = 0, place = 0;
  for (const auto& [other_name, other] : nodes) {
    ++place;
    if (other_name == name) own = place;
    if (other.port != 0 && other_name != name) others.push_back({"127.0.0.1", other.port});
  }
  if (others.size() <= limits.max_join) return others;
  std::vector<Endpoint> some;
  for (size_t i = 0; i < limits.max_join; ++i)
    some.push_back(others[(own * 7 + i * others.size() / limits.max_join) % others.size()]);
  return some;
}

void Swarm::restore_rates(const std::string& name) {
  const Node& node = nodes.at(name);
  if (node.away.count() > 0) net.set_distance(node.id, node.away);
  if (node.rates.up > 0 || node.rates.down > 0) net.set_rates(node.id, node.rates);
  for (const auto& [pair, rate] : pair_rates_) {
    if (pair.first != name && pair.second != name) continue;
    const Node &from = nodes.at(pair.first), &to = nodes.at(pair.second);
    if (from.alive && to.alive) net.set_pair_rate(from.id, to.id, rate);
  }
}

actors::NodeOptions Swarm::node_options(const std::string& name) const {
  const Node& node = nodes.at(name);
  actors::NodeOptions options;
  options.name = name;
  options.run_id = "run";
  options.num_stages = options.model.layers = static_cast<int32_t>(num_stages);
  if (node.serves) options.stages = node.serves->all();
  options.trainer = !node.serves;
  options.model.sequence = kSequence;
  options.backward = tensor::BackwardPolicy::kRecompute;  // an arithmetic stage has no graph
  options.optimizer.clip_norm = 0;
  options.training = training;
  options.checkpoint = checkpoint;
  options.stage_server = stage_options;
  options.grace_s = limits.drain_s;
  options.trainer_options = trainer_options;
  options.coordinator = coordinator_options;
  options.dht = dht_options;
  options.averager = averager_options;
  options.state_transfer = state_transfer_options;
  options.faults = faults;
  return options;
}

void Swarm::start_stage(Node& node) {
  auto& context = *node.context;
  node.stage = node.serves->at(0);
  const auto disk = disks.at(context.options.name);
  disk->keep_stage(node.stage);
  context.store = node.store = std::make_shared<DiskStore>(disk);
  context.make_stage = stage_maker(context.options.name, node);
  auto noted = [this, name = context.options.name, running = node.running](
                   const std::string& stream, uint64_t step, bool dropped) {
    if (*running && observer.snapshot) observer.snapshot(name, stream, step, dropped);
  };
  context.interpose = [this, &node, disk, noted](Role role, const caf::actor& actor) {
    node.actors.push_back(actor);
    const ComputeTimes times{node.times.compute, node.times.pass};
    if (role == Role::kCompute) return caf::actor(system->spawn(slow_compute, actor, times));
    if (role == Role::kMirror) return caf::actor(system->spawn(mirror_on_disk, actor, disk));
    const DiskTimes disk_times{node.times.fsync, node.times.read};
    return caf::actor(system->spawn(slow_disk, actor, disk, disk_times, SnapshotNoted(noted)));
  };
  const RoleName server{Role::kStage, 0, static_cast<uint32_t>(node.restarts)};
  const auto role = actors::spawn_stage_role(context, server.place, server.life);
  node.stage_server = role.at(server);
  for (const auto& [name, actor] : role)
    if (!(name == server)) node.actors.push_back(actor);
  node.actors.push_back(node.stage_server);
  node.stage_server->attach_functor(
      [this, name = context.options.name, running = node.running](const caf::error& reason) {
        if (reason != caf::exit_reason::user_shutdown) return;
        system->spawn([=] {
          if (*running) restart_role(name, /*moves=*/true);
        });
      });
}

Swarm::StageMaker Swarm::stage_maker(const std::string& name, const Node& node) {
  auto changed = [this, name, running = node.running](const ArithmeticStage& stage,
                                                      const char* how) {
    if (*running && observer.parameters) observer.parameters(name, stage, how);
  };
  auto noted = [this, name, running = node.running](const ArithmeticStage& stage,
                                                    const StageNote& note) {
    if (*running && observer.noted) observer.noted(name, stage, note);
  };
  return [this, name, running = node.running, changed, noted, noise = numbers_.ids * 7919,
          size = node.times.parameters](
             const tensor::StageOptions& options) -> Result<std::unique_ptr<tensor::Stage>> {
    auto made =
        std::make_unique<ArithmeticStage>(static_cast<uint32_t>(options.stage), changed, noise,
                                          noted, ArithmeticState(size, !training.asynchronous()));
    made->rounding_bits = limits.rounding_bits;
    made->not_finite = [this, name](const tensor::MicrobatchKey& key) {
      const size_t slots = training.batch / training.microbatch;
      return is_not_finite(nodes[name].not_finite, {key.step, key.slot}, slots, limits.spoilt);
    };
    if (*running) nodes[name].arithmetic = made.get();
    return std::unique_ptr<tensor::Stage>(std::move(made));
  };
}

void Swarm::start_voter(Node& node) {
  auto& context = *node.context;
  context.voter_disk = std::make_shared<VoterOnDisk>(disks.at(context.options.name), node.running);
  const auto role = actors::spawn_voter_role(context, 0, std::make_shared<actors::VoterMemory>());
  node.voter = role.begin()->second;
}

void Swarm::start_trainer(Node& node) {
  const auto life = static_cast<uint32_t>(node.restarts);
  for (const auto& [name, actor] : actors::spawn_trainer_role(*node.context, life))
    node.actors.push_back(actor);
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
  if (node.voter) caf::anon_send_exit(node.voter, caf::exit_reason::kill);
  node.voter = nullptr;
  node.actors.clear();
  node.stage_server = nullptr;
  lose_memory(node);
  node.alive = node.paused = false;
  system.run();
}

void Swarm::lose_memory(Node& node) {
  if (std::exchange(node.arithmetic, nullptr) == nullptr || !node.context) return;
  const auto stream = stage_key(static_cast<uint32_t>(node.stage));
  if (disks.at(node.context->options.name)->refuses(stream)) node.lost_unsaved.insert(node.stage);
}

void Swarm::restart_role(const std::string& name, bool moves) {
  Node& node = nodes.at(name);
  if (!node.alive) return;
  if (node.store) node.store->close();
  while (node.actors.size() > (node.trains() ? kCoordinator + 1 : kCoordinator)) {
    caf::anon_send_exit(node.actors.back(), caf::exit_reason::kill);
    node.actors.pop_back();
  }
  if (!moves) {
    lose_memory(node);
    system.run();
  }
  ++node.restarts;
  node.arithmetic = nullptr;
  const int from = node.stage;
  system.as(node.owner, [&] { node.trains() ? start_trainer(node) : start_stage(node); });
  if (moves && observer.moved) observer.moved(name, from, node.stage);
}

void Swarm::drain(const std::string& name, const std::function<void()>& done) {
  Node& node = nodes.at(name);
  node.drains = true;
  const caf::actor role = node.serves ? node.stage_server : node.actors.back();
  auto left = std::make_shared<int>(2);
  const auto one_done = [left, done] {
    if (--*left == 0) done();
  };
  for (const caf::actor& leaver : {role, node.voter})
    system->spawn([=](caf::event_based_actor* self) {
      self->request(leaver, kPatience, actors::drain_atom::value)
          .then([=](bool) { one_done(); }, [=](const caf::error&) { one_done(); });
    });
}

void Swarm::order(const actors::Mail& mail, const std::set<std::string>& only) {
  for (const auto& [name, node] : nodes) {
    if (!node.alive || !node.trains() || (!only.empty() && only.count(name) == 0)) continue;
    system->spawn([mail, coordinator = node.actors.at(kCoordinator)](caf::event_based_actor* self) {
      self->request(coordinator, kPatience, mail)
          .then([](const actors::Mail&) {}, [](const caf::error&) {});
    });
  }
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

void Swarm::set_rates(const std::string& name, const LinkRates& rates) {
  Node& node = nodes.at(name);
  node.rates = rates;
  if (node.alive) net.set_rates(node.id, rates);
}

void Swarm::set_distance(const std::string& name, std::chrono::nanoseconds away) {
  Node& node = nodes.at(name);
  node.away = away;
  if (node.alive) net.set_distance(node.id, away);
}

void Swarm::set_pair_rate(const std::string& from, const std::string& to, double bytes_per_s) {
  pair_rates_[{from, to}] = bytes_per_s;
  const Node &sender = nodes.at(from), &receiver = nodes.at(to);
  if (sender.alive && receiver.alive) net.set_pair_rate(sender.id, receiver.id, bytes_per_s);
}

void Swarm::lift_rates() {
  for (const auto& [name, node] : nodes)
    if (node.rates.up > 0 || node.rates.down > 0) set_rates(name, {});
  for (auto& [pair, rate] : pair_rates_)
    if (rate > 0) set_pair_rate(pair.first, pair.second, 0);
  pair_rates_.clear();
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
