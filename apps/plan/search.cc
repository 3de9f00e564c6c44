#include "apps/plan/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "apps/plan/stage_work.h"

namespace swarm::plan {
namespace {

constexpr int32_t kMostStages = 64;  // as pipeline.stages

Peers peers_of(const StageWork& work, const Device& device, uint32_t count) {
  Peers peers;
  peers.count = count;
  peers.compute_s = work.flops / device.flops_per_s + device.microbatch_s;
  peers.up_s = work.up_bytes / device.up_bytes_per_s;
  peers.down_s = work.down_bytes / device.down_bytes_per_s;
  peers.rtt_s = device.rtt_s;
  peers.up_bytes_per_s = device.up_bytes_per_s;
  peers.down_bytes_per_s = device.down_bytes_per_s;
  peers.most_resident = (device.memory_bytes - work.fixed_bytes) / work.resident_bytes;
  peers.preemptions_per_s = device.preemptions_per_hour / 3600;
  peers.away_s = device.restart_s + work.state_bytes / device.down_bytes_per_s;
  return peers;
}

uint32_t sum(const std::vector<uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0u);
}

SwarmModel model_of(const Job& job, const std::vector<Device>& devices, const Choice& choice,
                    const std::vector<StageWork>& works) {
  SwarmModel swarm;
  swarm.mode = job.mode;
  swarm.overlap = job.overlap;
  swarm.microbatches = double(job.batch) / choice.microbatch;
  uint32_t peers = 0;
  for (size_t stage = 0; stage < works.size(); ++stage) {
    StagePeers one;
    one.averaged_bytes = works[stage].averaged_bytes;
    for (size_t d = 0; d < devices.size(); ++d)
      if (const uint32_t count = choice.deal[stage][d]; count > 0)
        one.peers.push_back(peers_of(works[stage], devices[d], count));
    peers += sum(choice.deal[stage]);
    swarm.stages.push_back(std::move(one));
  }
  swarm.in_flight = double(choice.in_flight) * peers / double(works.size());
  return swarm;
}

/// Bytes that all peers together send for the microbatches of a step.
double sent_bytes(const SwarmModel& swarm, const std::vector<StageWork>& works,
                  const Choice& choice) {
  double bytes = 0;
  for (size_t stage = 0; stage < works.size(); ++stage)
    bytes += works[stage].up_bytes * swarm.microbatches +
             2.0 * (sum(choice.deal[stage]) - 1) * works[stage].averaged_bytes;
  return bytes;
}

std::optional<Plan> evaluate(const Job& job, const std::vector<Device>& devices,
                             const Choice& choice, const std::vector<StageWork>& works) {
  const SwarmModel swarm = model_of(job, devices, choice, works);
  for (const StagePeers& stage : swarm.stages)
    for (const Peers& peers : stage.peers)
      if (peers.most_resident < 1) return std::nullopt;
  if (swarm.in_flight > most_in_flight(swarm)) return std::nullopt;
  Plan plan;
  plan.choice = choice;
  plan.flow = flow(swarm);
  plan.fewest_replicas = std::numeric_limits<uint32_t>::max();
  double price = 0, sent_price = 0;
  for (size_t stage = 0; stage < works.size(); ++stage) {
    const uint32_t replicas = sum(choice.deal[stage]);
    plan.peers += replicas;
    plan.fewest_replicas = std::min(plan.fewest_replicas, replicas);
    plan.most_replicas = std::max(plan.most_replicas, replicas);
    plan.state_bytes = std::max(plan.state_bytes, works[stage].state_bytes);
    const double each = std::max(1.0, plan.flow.in_flight / replicas);
    plan.memory_bytes =
        std::max(plan.memory_bytes, works[stage].fixed_bytes + each * works[stage].resident_bytes);
    for (size_t d = 0; d < devices.size(); ++d) {
      price += choice.deal[stage][d] * devices[d].price_per_hour;
      sent_price += choice.deal[stage][d] * devices[d].price_per_gb_sent;
    }
  }
  const double tokens = double(job.batch) * job.model.sequence;
  const double sent = sent_bytes(swarm, works, choice);
  plan.tokens_per_s = tokens / plan.flow.step_s;
  plan.bytes_per_token = 2 * sent / tokens / double(works.size());
  plan.money_per_hour = price + sent / plan.flow.step_s * 3600 / 1e9 * sent_price / plan.peers;
  return plan;
}

/// 1, 2, ... 16, then each a tenth more, and `most`.
std::vector<uint32_t> replica_counts(uint32_t most) {
  std::vector<uint32_t> counts;
  for (uint32_t n = 1; n < most; n += std::max(1u, n / 10)) counts.push_back(n);
  counts.push_back(most);
  return counts;
}

class Searcher {
 public:
  explicit Searcher(const PlanInput& input) : input_(input) {
    for (const Device& device : input.devices) total_ += device.count;
    if (input.reference) wanted_ = tokens_per_s(*input.reference, input.job.model);
  }

  Found run() {
    std::vector<int32_t> stages = input_.search.stages;
    if (stages.empty()) {
      stages.resize(static_cast<size_t>(std::min(input_.job.model.layers, kMostStages)));
      std::iota(stages.begin(), stages.end(), 1);
    }
    for (const int32_t count : stages)
      if (static_cast<uint32_t>(count) <= total_) cut(count);
    for (auto& [key, plan] : best_) found_.plans.push_back(std::move(plan));
    std::sort(found_.plans.begin(), found_.plans.end(),
              [&](const Plan& a, const Plan& b) { return better(a, b, input_.search.best); });
    return std::move(found_);
  }

 private:
  void cut(int32_t stages) {
    const auto counts = parameters(input_.job.model, stages);
    for (const uint32_t microbatch : input_.search.microbatch) {
      if (!possible(input_.job, microbatch)) continue;
      for (const tensor::Codec codec : input_.search.codecs) {
        Choice choice;
        choice.microbatch = microbatch;
        choice.codec = codec;
        deal_out(choice, stage_work(input_.job, counts, microbatch, codec));
      }
    }
  }

  Rates rates(const std::vector<StageWork>& works) {
    Rates rates(works.size());
    double most = 0;
    for (size_t stage = 0; stage < works.size(); ++stage) {
      most = std::max(most, works[stage].fixed_bytes + works[stage].resident_bytes);
      for (const Device& device : input_.devices) {
        const Peers one = peers_of(works[stage], device, 1);
        const double longest = std::max({one.compute_s, one.up_s, one.down_s, 1e-12});
        rates[stage].push_back(one.most_resident < 1 ? 0 : 1 / longest);
      }
    }
    auto& least = found_.least_memory_bytes;
    least = least == 0 ? most : std::min(least, most);
    return rates;
  }

  void deal_out(Choice choice, const std::vector<StageWork>& works) {
    const Rates rated = rates(works);
    const auto& middle = rated[rated.size() / 2];
    std::vector<size_t> order(middle.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return middle[a] > middle[b]; });
    const auto stages = static_cast<uint32_t>(works.size());
    auto peers = replica_counts(total_ / stages);
    for (uint32_t& n : peers) n *= stages;
    if (peers.back() != total_) peers.push_back(total_);
    for (const uint32_t n : peers) {
      choice.deal = deal(rated, quickest(n, order), order);
      if (!choice.deal.empty()) weigh(choice, works);
    }
  }

  /// How many of each device the first `n` machines are.
  std::vector<uint32_t> quickest(uint32_t n, const std::vector<size_t>& order) const {
    std::vector<uint32_t> counts(order.size());
    for (const size_t device : order) {
      counts[device] = std::min(n, input_.devices[device].count);
      n -= counts[device];
    }
    return counts;
  }

  void weigh(Choice choice, const std::vector<StageWork>& works) {
    auto in_flight = input_.search.in_flight;
    if (in_flight.empty()) in_flight.push_back(0);
    for (const uint32_t n : in_flight) {
      choice.in_flight = n;
      auto plan = evaluate(input_.job, input_.devices, choice, works);
      if (!plan) continue;
      if (wanted_ > 0 && plan->tokens_per_s >= wanted_ &&
          (!found_.equal || std::make_tuple(plan->peers, -plan->tokens_per_s) <
                                std::make_tuple(found_.equal->peers, -found_.equal->tokens_per_s)))
        found_.equal = plan;
      const auto key = std::make_pair(works.size(), choice.codec);
      const auto [at, is_new] = best_.try_emplace(key, *plan);
      if (!is_new && better(*plan, at->second, input_.search.best)) at->second = std::move(*plan);
    }
  }

  const PlanInput& input_;
  uint32_t total_ = 0;
  double wanted_ = 0;
  std::map<std::pair<size_t, tensor::Codec>, Plan> best_;
  Found found_;
};

}  // namespace

std::optional<Plan> evaluate(const Job& job, const std::vector<Device>& devices,
                             const Choice& choice) {
  const auto counts = parameters(job.model, static_cast<int32_t>(choice.deal.size()));
  return evaluate(job, devices, choice, stage_work(job, counts, choice.microbatch, choice.codec));
}

bool possible(const Job& job, uint32_t microbatch) {
  return job.batch % microbatch == 0 &&
         microbatch <= tensor::most_samples(job.model, static_cast<uint64_t>(job.model.sequence));
}

Found search(const PlanInput& input) { return Searcher(input).run(); }

bool better(const Plan& a, const Plan& b, Goal goal) {
  const auto key = [goal](const Plan& plan) {
    const double speed = -plan.tokens_per_s, money = plan.money_per_token();
    return std::make_tuple(goal == Goal::kMoney ? money : speed,
                           goal == Goal::kMoney ? speed : money, plan.peers, plan.memory_bytes,
                           plan.choice.deal.size());
  };
  return key(a) < key(b);
}

double tokens_per_s(const Reference& reference, const tensor::ModelOptions& model) {
  return reference.count * reference.flops_per_s / flops_per_token(model);
}

}  // namespace swarm::plan
