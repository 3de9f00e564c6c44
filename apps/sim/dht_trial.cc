#include "apps/sim/dht_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "actors/dht/dht_node.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "apps/sim/traffic_report.h"
#include "common/check.h"
#include "routing/dht/dht_key.h"

namespace swarm::sim {
namespace {

using actors::DhtRecordLocal;
using actors::DhtRecords;
using namespace std::chrono_literals;

constexpr auto kEvery = 1s;      // between two announcements, and two reads
constexpr auto kTtl = 4s;        // of an announcement
constexpr auto kPatience = 30s;  // with one store or read
constexpr auto kBetweenJoins = 20ms;
constexpr auto kSettles = 60s;
constexpr double kShortReply = 1e-3;  // reads of what this node keeps itself

using again_atom = caf::atom_constant<caf::atom("again")>;

std::string name_of(int n) { return fmt::format("stage/{}", n); }

/// Announces a node under one name, and reads another one, for as long as it lives.
struct Routine {
  caf::actor dht;
  std::string own, announces, reads;
  uint64_t version = 0;
};

caf::behavior live(caf::event_based_actor* self, std::shared_ptr<Routine> routine) {
  self->send(self, again_atom::value);
  return {[self, routine](again_atom) {
    self->delayed_send(self, kEvery, again_atom::value);
    const DhtRecordLocal record{routine->own, std::string(100, 'x'), ++routine->version, kTtl};
    const auto ignore = [](const caf::error&) {};
    self->request(routine->dht, caf::infinite, actors::dht_store_atom::value, routine->announces,
                  record)
        .then([] {}, ignore);
    self->request(routine->dht, caf::infinite, actors::dht_get_atom::value, routine->reads)
        .then([](const DhtRecords&) {}, ignore);
  }};
}

/// What one store or read came to.
struct Outcome {
  std::optional<double> seconds;
  DhtRecords records;
};

class Trial {
 public:
  explicit Trial(const DhtTrialOptions& options) : options_(options), random_(options.seed) {
    SWARM_CHECK(options.nodes >= 2 && options.names >= 1);
    NetworkModel model;
    model.min_delay = options.min_delay;
    model.max_delay = options.max_delay;
    network_.set_model(model, options.seed);
    network_.count_traffic();
    figures_.nodes = options.nodes;
    figures_.round_trip_s =
        std::chrono::duration<double>(options.min_delay + options.max_delay).count();
  }
  ~Trial() {
    for (const auto& node : nodes_) end(node);
    system_.run();
    network_.shut_down();
    system_.run();
  }

  apps::DhtFigures run() {
    begin();
    count();
    stores();
    reads();
    kill_some();
    return figures_;
  }

 private:
  struct Node {
    NodeId id;
    caf::actor dht, routine;
    std::string own, announces;
    bool alive = true;
  };

  void end(const Node& node) {
    for (const auto& actor : {node.dht, node.routine})
      caf::anon_send_exit(actor, caf::exit_reason::kill);
  }

  void begin() {
    for (int n = 0; n < options_.nodes; ++n) {
      add(n);
      system_.advance(kBetweenJoins);
    }
    system_.advance(kSettles);
  }

  void add(int n) {
    Node node;
    node.own = fmt::format("node {}", n);
    node.id = routing::dht_key(fmt::format("{} of {}", node.own, options_.seed));
    node.announces = name_of(n % options_.names);
    const auto links = network_.add(node.id);
    std::vector<Endpoint> join;
    if (n > 0) join.push_back(network_.endpoint(nodes_.front().id));
    node.dht = actors::spawn_dht_node(
        *system_, {node.id, network_.endpoint(node.id), links, {}, "run", std::move(join)});
    const auto routine = std::make_shared<Routine>(
        Routine{node.dht, node.own, node.announces, name_of((n + 1) % options_.names)});
    node.routine = system_->spawn(live, routine);
    nodes_.push_back(node);
  }

  TrafficMark mark() {
    return {std::chrono::duration<double>(system_.now().time_since_epoch()).count(),
            network_.traffic()};
  }

  void count() {
    const TrafficMark from = mark();
    system_.advance(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(options_.counted_s)));
    TrafficOptions all;
    for (const auto& node : nodes_) all.names[node.id] = node.own;
    const auto mean = mean_traffic(from, mark(), all);
    figures_.messages_per_s = mean.messages_per_s;
    figures_.bytes_per_s = mean.bytes_per_s;
  }

  Node& any() {
    for (;;) {
      Node& node = nodes_[random_.below(nodes_.size())];
      if (node.alive) return node;
    }
  }

  /// Sends `ask` to that node's DHT and waits in virtual time.
  template <class... Ts>
  Outcome ask(const Node& node, Ts... message) {
    auto outcome = std::make_shared<Outcome>();
    auto ended = std::make_shared<bool>(false);
    const auto from = system_.now();
    auto tell = [this, outcome, ended, from] {
      *ended = true;
      outcome->seconds = std::chrono::duration<double>(system_.now() - from).count();
    };
    system_->spawn([=, dht = node.dht](caf::event_based_actor* self) {
      const auto failed = [ended](const caf::error&) { *ended = true; };
      if constexpr (sizeof...(Ts) == 2)
        self->request(dht, caf::infinite, message...)
            .then(
                [=](const DhtRecords& records) {
                  outcome->records = records;
                  tell();
                },
                failed);
      else
        self->request(dht, caf::infinite, message...).then([=] { tell(); }, failed);
    });
    system_.advance_until([&] { return *ended; }, kPatience);
    return *outcome;
  }

  Outcome read(const Node& node, const std::string& name) {
    return ask(node, actors::dht_get_atom::value, name);
  }
  Outcome store(const Node& node, const std::string& name) {
    return ask(node, actors::dht_store_atom::value, name,
               DhtRecordLocal{node.own, std::string(100, 'x'), 1, 3600s});
  }

  static void keep(const Outcome& outcome, std::vector<double>& seconds) {
    if (outcome.seconds && *outcome.seconds > kShortReply) seconds.push_back(*outcome.seconds);
  }

  void stores() {
    for (int i = 0; i < options_.samples; ++i)
      keep(store(any(), fmt::format("stored {}", i)), figures_.store_s);
  }

  void reads() {
    for (int i = 0; i < options_.samples; ++i) {
      const Node& reader = any();
      const std::string name = fmt::format("stored {}", i);
      keep(read(reader, name), figures_.first_s);
      keep(read(reader, name), figures_.again_s);
    }
  }

  void kill_some() {
    const auto wanted = static_cast<int>(options_.killed * options_.nodes);
    while (figures_.killed < std::min(wanted, options_.nodes - 1)) {
      Node& node = any();
      node.alive = false;
      ++figures_.killed;
      network_.kill(node.id, /*silently=*/true);
      end(node);
    }
    system_.run();
    for (int i = 0; i < options_.samples; ++i) {
      const std::string name = name_of(i % options_.names);
      const Outcome outcome = read(any(), name);
      if (outcome.seconds) figures_.after_s.push_back(*outcome.seconds);
      count_found(name, outcome.records);
    }
  }

  void count_found(const std::string& name, const DhtRecords& records) {
    std::set<std::string> brought;
    for (const auto& record : records) brought.insert(record.subkey);
    for (const auto& node : nodes_) {
      if (!node.alive || node.announces != name) continue;
      ++figures_.expected;
      figures_.found += brought.count(node.own);
    }
  }

  const DhtTrialOptions options_;
  Random random_;
  DeterministicSystem system_;
  FakeNetwork network_{*system_};
  std::vector<Node> nodes_;
  apps::DhtFigures figures_;
};

}  // namespace

apps::DhtFigures run_dht_trial(const DhtTrialOptions& options) { return Trial(options).run(); }

}  // namespace swarm::sim
