#include "apps/sim/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "apps/sim/swarm.h"
#include "common/check.h"

namespace swarm::sim {
namespace {

using apps::each_peer;
using apps::FlowPeer;
using apps::FlowResult;
using apps::FlowScenario;
using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

/// So that activations are tens of KiB: other mail weighs next to nothing beside them.
constexpr uint32_t kSamples = 2'048;
/// Rates are in bytes, so that it has to be known first what a microbatch weighs.
constexpr double kWeighing_s = 10;

nanoseconds span(double seconds) { return duration_cast<nanoseconds>(duration<double>(seconds)); }

struct Bytes {
  double up = 0, down = 0;  // of one microbatch
};

class Flow {
 public:
  explicit Flow(const FlowScenario& scenario) : scenario_(scenario) {
    NetworkModel model;
    model.min_delay = span(scenario.way_s);
    model.max_delay = model.min_delay + span(0.0005);
    swarm_.net.set_model(model, scenario.seed);
    swarm_.net.count_traffic();
    swarm_.num_stages = static_cast<uint32_t>(scenario.stages.size());
    auto& training = swarm_.training;
    training.microbatch = kSamples;
    training.batch = scenario.microbatches * kSamples;
    training.validation_samples = kSamples;
    training.steps = 1'000'000;
    if (scenario.asynchronous) training.mode = actors::TrainingMode::kAsync;
    training.background_averaging = scenario.asynchronous;
    swarm_.checkpoint.every_steps = 0;
    swarm_.stage_options.wiring.cost = scenario.cost;
    swarm_.trainer_options.wiring.cost = scenario.cost;
    swarm_.trainer_options.max_in_flight = scenario.in_flight;
  }

  /// What a microbatch makes that peer send, and receive, where it is most.
  Bytes weigh() {
    start();
    advance(kWeighing_s);
    Bytes most;
    const auto& traffic = swarm_.net.traffic();
    each_peer(scenario_, [&](size_t, const std::string& name, const FlowPeer&) {
      const Bytes bytes = bytes_of(traffic.at(swarm_.nodes.at(name).id));
      most.up = std::max(most.up, bytes.up);
      most.down = std::max(most.down, bytes.down);
    });
    return most;
  }

  FlowResult run(const Bytes& most) {
    start();
    set_rates(most);
    advance(scenario_.settle_s);
    const double from_s = now_s();
    const auto before = swarm_.net.traffic();
    advance(scenario_.measured_s);
    return result(before, now_s() - from_s);
  }

 private:
  void start() {
    each_peer(scenario_, [this](size_t stage, const std::string& name, const FlowPeer& peer) {
      MachineTimes times;
      times.compute = nanoseconds(0);
      times.pass = span(peer.compute_s / 2);
      swarm_.add_peer(name, static_cast<int>(stage), times);
      swarm_.start(name);
      if (peer.away_s > 0) swarm_.set_distance(name, span(peer.away_s));
    });
    for (uint32_t t = 0; t < scenario_.trainers; ++t) {
      const std::string name = fmt::format("trainer-{}", t);
      swarm_.add_trainer(name);
      swarm_.start(name);
    }
  }

  void set_rates(const Bytes& most) {
    each_peer(scenario_, [&](size_t, const std::string& name, const FlowPeer& peer) {
      LinkRates rates;
      if (peer.up_s > 0) rates.up = most.up / peer.up_s;
      if (peer.down_s > 0) rates.down = most.down / peer.down_s;
      if (rates.up > 0 || rates.down > 0) swarm_.set_rates(name, rates);
    });
  }

  using Counts = std::map<proto::MessageKind, TrafficCount>;
  static TrafficCount count(const Counts& counts, proto::MessageKind kind) {
    const auto found = counts.find(kind);
    return found == counts.end() ? TrafficCount{} : found->second;
  }
  static double each(uint64_t bytes, uint64_t mails) {
    return mails == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(mails);
  }
  static Bytes bytes_of(const Counts& counts) {
    const auto forward = count(counts, proto::KIND_FORWARD);
    const auto reply = count(counts, proto::KIND_FORWARD_REPLY);
    return {each(forward.sent_bytes, forward.sent) + each(reply.sent_bytes, reply.sent),
            each(forward.received_bytes, forward.received) +
                each(reply.received_bytes, reply.received)};
  }

  FlowResult result(const TrafficCounts& before, double seconds) {
    FlowResult result;
    result.stages.resize(scenario_.stages.size());
    each_peer(scenario_, [&](size_t stage, const std::string& name, const FlowPeer& peer) {
      const auto& node = swarm_.nodes.at(name);
      const auto& counts = swarm_.net.traffic().at(node.id);
      const Bytes bytes = bytes_of(counts);
      FlowResult::Peer one;
      one.name = name;
      one.capacity = 1 / peer.compute_s;
      if (node.rates.up > 0) one.capacity = std::min(one.capacity, node.rates.up / bytes.up);
      if (node.rates.down > 0) one.capacity = std::min(one.capacity, node.rates.down / bytes.down);
      const auto replies = count(counts, proto::KIND_FORWARD_REPLY).sent -
                           count(before.at(node.id), proto::KIND_FORWARD_REPLY).sent;
      one.carried = static_cast<double>(replies) / seconds;
      result.stages[stage].push_back(one);
    });
    complete(result, scenario_);
    return result;
  }

  void advance(double seconds) { swarm_.system.advance(span(seconds)); }
  double now_s() { return duration<double>(swarm_.system.now().time_since_epoch()).count(); }

  FlowScenario scenario_;
  Swarm swarm_;
};

}  // namespace

FlowResult run_flow(const FlowScenario& scenario) {
  SWARM_CHECK(!scenario.stages.empty());
  for (const auto& stage : scenario.stages)
    SWARM_CHECK(std::any_of(stage.begin(), stage.end(), [](auto& peer) { return !peer.absent; }));
  return Flow(scenario).run(Flow(scenario).weigh());
}

}  // namespace swarm::sim
