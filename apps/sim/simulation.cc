#include "apps/sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apps/sim/copies.h"
#include "apps/sim/elastic_start.h"
#include "apps/sim/forced_parts.h"
#include "apps/sim/journal.h"
#include "apps/sim/traffic_report.h"
#include "common/check.h"
#include "common/numbers.h"

namespace swarm::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Real clocks are far from zero when a process starts.
constexpr seconds kEpoch{1'000};
/// The longest that a healed swarm may need to its last step, and then until all are quiet.
constexpr seconds kLivenessLimit{400};
constexpr seconds kSettleLimit{150};
constexpr milliseconds kCheckEvery{50};
/// Asynchronous mode: its draws shift nobody else's; its periods are so much shorter than steps.
constexpr uint64_t kAsynchronousDraws = 0xa57c;
constexpr uint32_t kPeriodsPerStep = 3;
/// Idle links, likewise. Every third swarm keeps all of its links.
constexpr uint64_t kIdleDraws = 0x1d1e;
/// Snapshots that disks keep, likewise, from this seed on. One is enough: stores never prune what is
/// durable in every stage.
constexpr uint64_t kKeepDraws = 0x6ee9, kKeepDrawnFrom = 6'500'000;
constexpr uint64_t kFewestKept = 1, kMostKept = 3;
/// Numbers of nodes, likewise: from this seed on up to 12, and in every 50th run up to 64.
constexpr uint64_t kNodesDraws = 0x40de, kNodesDrawnFrom = 7'400'000, kManyEvery = 50;
constexpr uint64_t kFewestNodes = 5, kMostNodesOften = 12, kMostNodesSeldom = 64;
/// Of large swarms.
constexpr uint32_t kNodesPerTrainer = 12, kLargeStages = 8;
/// Of some 40 numbers, as 4,096 are of 20,000.
constexpr uint32_t kPartInLarge = 8;
/// Their runs are shorter than the 60 s after which real links are closed.
constexpr seconds kIdleInLarge{3};

/// "a" to "z", "aa", "ab", ...
std::string replica_name(uint32_t number) {
  std::string name(1, static_cast<char>('a' + number % 26));
  return number < 26 ? name : replica_name(number / 26 - 1) + name;
}

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options), random_(options.seed * kSplitMixStep + 1), checks_(swarm_) {
    swarm_.system.shuffle(random_.next());
    swarm_.disk_random = random_.fork();
    swarm_.system.advance(kEpoch);
    if (moves_peers(options_.profile))
      elastic_.emplace(swarm_, options_.seed, options_.profile == FaultProfile::kElastic,
                       options_.asynchronous);
    draw_swarm();
    observe();
    if (options_.traffic) swarm_.net.count_traffic();
    faults_.emplace(
        swarm_, FaultInjector::Plan{options_.profile, options_.seed, random_.next(), calm_},
        FaultInjector::Hooks{
            [this](const std::string& node, const std::string& what) { log(node, what); },
            [this](const std::string& node) { checks_.before_start(node); },
            [this](const std::string& node) {
              checks_.disk_lost(node);
              disks_lost_.insert(swarm_.nodes.at(node).stage);
            },
            [this](const std::string& node) { checks_.mode().bit_turned(node); }});
  }

  SimulationReport run() {
    start_all();
    const auto begin = random_.between({}, seconds(4));
    auto until = begin + random_.between(seconds(2), seconds(12));
    if (is_forced()) until += kDividedFor;
    faults_->plan(begin, until, options_.max_faults);
    run_until([this] { return finished_ && !faults_->agenda().next(); }, kLivenessLimit,
              "the last step was not reached");
    for (const auto& name : faults_->parted()) checks_.excuse(name);
    run_until([this] { return checks_.unsettled().empty(); }, kSettleLimit, "not settled");
    if (!checks_.violation() && lost_stage_.empty()) checks_.at_end();
    if (checks_.violation())
      log("-", "VIOLATION " + checks_.violation()->invariant + ": " + checks_.violation()->text);
    log("-", fmt::format("mail={} delivered={}", swarm_.system.steps(), swarm_.net.delivered()));
    SimulationReport report;
    report.seed = options_.seed;
    report.profile = options_.profile;
    report.violation = checks_.violation();
    report.hash = journal_.hash();
    report.events = journal_.lines();
    report.virtual_s = std::chrono::duration<double>(time()).count();
    report.mail = swarm_.system.steps();
    report.faults = faults_->count();
    report.max_faults = options_.max_faults;
    report.recoveries = recoveries_;
    report.moves = moves_;
    report.given_up = given_up_;
    report.delayed_updates = options_.delayed_updates;
    report.asynchronous = options_.asynchronous;
    report.averaging = options_.averaging;
    report.last_step_s = last_step_s_;
    report.lost_stage = lost_stage_;
    if (options_.traffic) tell_traffic(report);
    return report;
  }

 private:
  nanoseconds time() { return swarm_.system.now().time_since_epoch() - kEpoch; }
  void log(const std::string& node, const std::string& text) { journal_.add(time(), node, text); }

  void draw_averager() {
    auto& averager = swarm_.averager_options;
    averager.topology = options_.topology;
    averager.codec = options_.averaging;
    if (averager.codec != tensor::Codec::kNone) swarm_.limits.rounding_bits = 5;
    averager.chunk_elements = 4 + static_cast<uint32_t>(random_.below(40));
    averager.chunks_in_flight = 1 + static_cast<uint32_t>(random_.below(4));
  }
  void draw_swarm() {
    auto& training = swarm_.training;
    const uint32_t nodes = options_.nodes != 0 ? options_.nodes : draw_nodes();
    uint32_t trainers = std::min<uint32_t>(2 + static_cast<uint32_t>(random_.below(2)), nodes - 2);
    const bool large = options_.stages != 0 || nodes > kLargeSwarm;
    if (large) trainers = std::max(trainers, nodes / kNodesPerTrainer);
    const uint32_t peers = nodes - trainers;
    training.min_peers = peers / 2 + 1;
    swarm_.num_stages = std::min<uint32_t>(2 + static_cast<uint32_t>(random_.below(3)), peers);
    training.steps = 6 + static_cast<uint32_t>(random_.below(10));
    training.delayed_updates = options_.delayed_updates;
    training.batch = 16;
    training.microbatch = random_.chance(0.7) ? 2 : 4;
    training.validation_samples = 4;
    training.validate_every = random_.chance(0.3) ? 3 : 0;
    if (elastic_) elastic_->set_options();
    if (options_.steps != 0) training.steps = options_.steps;
    if (large) make_large(peers);
    swarm_.checkpoint.every_steps = 1 + static_cast<uint32_t>(random_.below(4));
    swarm_.checkpoint.keep = draw_keep();
    swarm_.stage_options.max_resident = 2 + static_cast<uint32_t>(random_.below(7));
    draw_averager();
    swarm_.state_transfer_options.chunk_bytes = 64;
    swarm_.faults.drop_gradient = options_.drop_gradient;
    calm_.min_delay = microseconds(50);
    calm_.max_delay = random_.spread(microseconds(100), milliseconds(20));
    Random idle(options_.seed ^ kIdleDraws);
    if (large)
      calm_.idle_close = kIdleInLarge;
    else if (idle.chance(0.67))
      calm_.idle_close = idle.spread(milliseconds(500), seconds(8));
    swarm_.net.set_model(calm_, random_.next());
    auto compute = random_.spread(microseconds(500), milliseconds(20));
    if (is_forced()) compute *= draw_divided(training, options_.seed);
    const auto fsync = random_.spread(milliseconds(1), milliseconds(300));
    for (uint32_t i = 0; i < trainers; ++i) swarm_.add_trainer(fmt::format("t{}", i));
    if (elastic_) elastic_->add_peers(peers, fsync);
    for (uint32_t i = 0; i < peers && !elastic_; ++i) {
      const uint32_t stage = i % swarm_.num_stages;
      MachineTimes times{random_.spread(compute / 2, compute * 2), fsync};
      swarm_.add_peer(fmt::format("s{}{}", stage, replica_name(i / swarm_.num_stages)),
                      static_cast<int>(stage), times);
    }
    log("-", fmt::format("seed={} faults={} trainers={} peers={} stages={} steps={}", options_.seed,
                         to_string(options_.profile), trainers, peers, swarm_.num_stages,
                         training.steps));
    if (options_.asynchronous) draw_asynchronous();
  }

  bool is_forced() const { return options_.profile == FaultProfile::kForced; }

  uint32_t draw_nodes() {
    if (elastic_) return elastic_->nodes();
    const auto nodes = static_cast<uint32_t>(kFewestNodes + random_.below(7));
    if (options_.seed < kNodesDrawnFrom) return nodes;
    Random random(options_.seed ^ kNodesDraws);
    const bool many = options_.seed % kManyEvery == 0;
    const uint64_t fewest = many ? kMostNodesOften + 1 : kFewestNodes;
    const uint64_t most = many ? kMostNodesSeldom : kMostNodesOften;
    return static_cast<uint32_t>(fewest + random.below(most - fewest + 1));
  }

  uint32_t draw_keep() {
    const auto keep = 2 + static_cast<uint32_t>(random_.below(2));
    if (options_.seed < kKeepDrawnFrom) return keep;
    Random random(options_.seed ^ kKeepDraws);
    return static_cast<uint32_t>(kFewestKept + random.below(kMostKept - kFewestKept + 1));
  }

  /// Each peer has about as much to do in a swarm of any size.
  void make_large(uint32_t peers) {
    auto& training = swarm_.training;
    swarm_.num_stages = options_.stages != 0 ? options_.stages : kLargeStages;
    swarm_.limits.max_join = 4;
    training.microbatch = 2;
    swarm_.averager_options.min_part_elements = kPartInLarge;
    training.batch = 16;
    while (training.batch < 2 * training.microbatch * peers / swarm_.num_stages)
      training.batch *= 2;  // divisions by a power of two are exact
  }

  void mark_traffic(std::optional<TrafficMark>& mark) {
    if (!options_.traffic || mark) return;
    mark = TrafficMark{std::chrono::duration<double>(time()).count(), swarm_.net.traffic()};
  }

  /// While joining, to the first step, and while training, to the last.
  void tell_traffic(SimulationReport& report) {
    TrafficOptions options;
    for (const auto& [name, node] : swarm_.nodes) {
      if (!node.alive) continue;
      options.names[node.id] = name;
      options.links[node.id] = swarm_.net.links_of(node.id);
      if (name == coordinator_) options.coordinator = node.id;
    }
    mark_traffic(first_step_);
    mark_traffic(last_step_);
    report.traffic = traffic_lines("joining", {}, *first_step_, options);
    if (last_step_->at_s <= first_step_->at_s) return;
    for (auto& line : traffic_lines("training", *first_step_, *last_step_, options))
      report.traffic.push_back(line);
    report.training = mean_traffic(*first_step_, *last_step_, options);
  }

  void draw_asynchronous() {
    Random random(options_.seed ^ kAsynchronousDraws);
    auto& training = swarm_.training;
    training.mode = actors::TrainingMode::kAsync;
    training.steps *= kPeriodsPerStep;
    training.local_update_every =
        random.chance(0.5) ? 1 : 2 + static_cast<uint32_t>(random.below(2));
    training.sync_every = training.batch * static_cast<uint32_t>(random.below(4));
    training.background_averaging = random.chance(0.5);
    log("-", fmt::format("periods={} sync_every={} local_update_every={}{}", training.steps,
                         training.sync_every, training.local_update_every,
                         training.background_averaging ? " background_averaging" : ""));
    checks_.use_periods();
    observe_updates();
  }

  void observe_updates() {
    swarm_.observer.noted = [this](const std::string& node, const ArithmeticStage& stage,
                                   const StageNote& note) {
      if (note.what == StageNote::What::kAveraged)
        log(node, "takes the average " + std::to_string(note.value) +
                      " of updates=" + std::to_string(stage.updates()));
      checks_.mode().noted(node, stage, note);
    };
  }

  void observe() {
    auto& observer = swarm_.observer;
    observer.event = [this](const std::string& node, const records::Event& event) {
      log(node, what(event));
      if (const auto end = event.as<records::RunFinished>()) {
        finished_ = true;
        if (!end->not_durable) end_ = static_cast<uint64_t>(event.step);
      }
      if (finished_ && !last_step_s_) last_step_s_ = std::chrono::duration<double>(time()).count();
      if (finished_) mark_traffic(last_step_);
      recoveries_ += event.is<records::Recovered>() ? 1 : 0;
      moves_ += event.is<records::MoveDone>() ? 1 : 0;
      given_up_ += event.is<records::MoveGivenUp>() ? 1 : 0;
      checks_.event(node, event);
    };
    observer.moved = [this](const std::string& node, int from, int to) {
      log(node, fmt::format("goes from stage {} to {}", from, to));
      checks_.moved(node, from);
    };
    observer.closed = [this](const std::string& node, const records::ClosedStep& step) {
      checks_.mode().closed(node, step);
    };
    observer.committed = [this](const std::string& node, const records::CommittedStep& step) {
      checks_.mode().committed(node, step);
    };
    observer.loaded = [this](const std::string& node, const records::LoadedState& state) {
      checks_.mode().loaded(node, state);
    };
    observer.metrics = [this](const std::string& node, const records::StepMetrics& line) {
      log(node, "step=" + std::to_string(line.step) + " term=" + std::to_string(line.term) +
                    " attempts=" + std::to_string(line.attempts) +
                    " loss=" + (line.train_loss ? fixed(*line.train_loss, 6) : std::string("-")));
      coordinator_ = node;
      mark_traffic(first_step_);
      checks_.mode().metrics(line);
    };
    observer.parameters = [this](const std::string& node, const ArithmeticStage& stage,
                                 const char* how) {
      log(node, std::string(how) + " step=" + std::to_string(stage.step()));
      checks_.mode().parameters(node, stage, how);
    };
    observer.snapshot = [this](const std::string& node, const std::string& stream, uint64_t step,
                               bool dropped) {
      log(node,
          fmt::format(dropped ? "drops {} after step={}" : "durable {} step={}", stream, step));
      checks_.snapshot(node, stream, step, dropped);
    };
  }

  void start_all() {
    std::multimap<nanoseconds, std::string> order;
    for (const auto& [name, node] : swarm_.nodes)
      if (!elastic_ || !elastic_->is_late(name))
        order.emplace(random_.between({}, milliseconds(300)), name);
    for (const auto& [when, name] : order) {
      swarm_.system.advance(std::max(nanoseconds(1), when - time()));
      swarm_.start(name);
    }
  }

  /// Ends with a violation when `limit` has passed since the last fault.
  void run_until(const std::function<bool()>& done, nanoseconds limit, const char* complaint) {
    auto& system = swarm_.system;
    auto give_up_at = system.now() + limit;
    while (!checks_.violation() && lost_stage_.empty() && !done()) {
      auto until = system.now() + kCheckEvery;
      if (finished_ && faults_->agenda().next()) faults_->heal();
      if (auto next = faults_->agenda().next()) {
        until = std::min(until, *next);
        give_up_at = system.now() + limit;
      }
      if (until > system.now()) system.advance(until - system.now());
      for (const auto& name : elastic_ ? elastic_->start_late(time()) : std::vector<std::string>())
        log(name, "joins");
      faults_->agenda().act();
      system.run();
      checks_.now();
      if (system.now() > give_up_at) return stuck(complaint);
    }
  }

  void stuck(const char* complaint) {
    if (const auto stage = lost_stage(swarm_, faults_->gone(), disks_lost_, end_)) {
      lost_stage_ = fmt::format("stage {} is lost for good: {}", *stage, checks_.unsettled());
      return log("-", "LOST " + lost_stage_);
    }
    if (const auto left = votes_lost(swarm_, faults_->gone())) {
      lost_stage_ =
          fmt::format("votes are lost for good, {}: {}", left->text(), checks_.unsettled());
      return log("-", "LOST " + lost_stage_);
    }
    checks_.report("liveness", std::string(complaint) +
                                   " though all faults have ended: " + checks_.unsettled());
    for (auto& [name, node] : swarm_.nodes) {
      if (!node.alive) continue;
      for (size_t i = !node.serves ? 2 : node.actors.size() - 2; i < node.actors.size(); ++i)
        log(name, "STATE " + swarm_.describe(node.actors[i]));
    }
  }

  SimulationOptions options_;
  Random random_;
  Swarm swarm_;
  Journal journal_;
  Checks checks_;
  NetworkModel calm_;
  std::optional<ElasticStart> elastic_;
  std::optional<FaultInjector> faults_;
  bool finished_ = false;
  uint64_t end_ = 0;         ///< The step that was then durable in every stage.
  std::string coordinator_;  ///< The latest that closed a step.
  std::optional<TrafficMark> first_step_, last_step_;
  uint64_t recoveries_ = 0, moves_ = 0, given_up_ = 0;
  std::optional<double> last_step_s_;
  std::string lost_stage_;
  std::set<int> disks_lost_;  ///< Of peers of these stages.
};

}  // namespace

SimulationReport simulate(const SimulationOptions& options) {
  SWARM_CHECK(options.nodes == 0 || (options.nodes >= 4 && options.nodes <= kMostNodes));
  SWARM_CHECK(options.stages <= kMostStages && options.steps <= kMostSteps);
  SWARM_CHECK(options.stages == 0 || options.nodes >= options.stages + 2);
  SWARM_CHECK(!(options.asynchronous && options.delayed_updates));
  SWARM_CHECK(!options.asynchronous || options.averaging == tensor::Codec::kNone);
  return Simulation(options).run();
}

SimulationReport simulate_shortest(const SimulationOptions& options) {
  SimulationOptions fewer = options;
  for (fewer.max_faults = 0; fewer.max_faults < kMostFaults; ++fewer.max_faults) {
    auto report = simulate(fewer);
    if (report.violation) return report;
  }
  return simulate(options);
}

}  // namespace swarm::sim
