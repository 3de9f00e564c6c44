#include "apps/plan/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/plan/stage_work.h"
#include "common/numbers.h"
#include "common/text_table.h"

namespace swarm::plan {
namespace {

constexpr double kDay_s = 86'400;

std::string replicas(const Plan& plan) {
  if (plan.fewest_replicas == plan.most_replicas) return fmt::format("{}", plan.most_replicas);
  return fmt::format("{}-{}", plan.fewest_replicas, plan.most_replicas);
}

std::string percent(double part) { return fixed(100 * part, 1); }
std::string codec_name(const Plan& plan) {
  return tensor::codec_names()[static_cast<size_t>(plan.choice.codec)];
}
/// Under way per peer of a stage.
double in_flight(const Plan& plan) {
  return plan.flow.in_flight * double(plan.choice.deal.size()) / plan.peers;
}
double per_billion(double per_token) { return per_token * 1e9; }

std::string table(const Found& found, size_t top) {
  TextTable table({"stages", "replicas", "microbatch", "in flight", "codec", "tokens/s",
                   "tokens/day", "busy %", "bound by", "bytes/token", "GB", "per 10^9 tokens",
                   "lost %"});
  for (size_t i = 0; i < std::min(top, found.plans.size()); ++i) {
    const Plan& plan = found.plans[i];
    table.add({fmt::format("{}", plan.choice.deal.size()), replicas(plan),
               fmt::format("{}", plan.choice.microbatch), fixed(in_flight(plan), 1),
               codec_name(plan), grouped(plan.tokens_per_s),
               shortest(plan.tokens_per_s * kDay_s, 4), percent(plan.flow.utilisation),
               to_string(plan.flow.bound), grouped(plan.bytes_per_token),
               fixed(plan.memory_bytes / 1e9, 1), fixed(per_billion(plan.money_per_token()), 2),
               percent(plan.flow.lost)});
  }
  return table.text();
}

/// "41.2 days, cost 123,000".
std::string bill(double tokens, double tokens_per_s, double money_per_token) {
  std::string text = shortest(tokens / tokens_per_s / kDay_s, 3) + " days";
  if (money_per_token > 0) text += ", cost " + grouped(tokens * money_per_token);
  return text;
}

/// The best plan if links were free and quick. Requires that there is a plan.
Plan without_network(PlanInput input) {
  for (Device& device : input.devices) {
    device.up_bytes_per_s = device.down_bytes_per_s = 1e15;
    device.rtt_s = device.price_per_gb_sent = 0;
  }
  return search(input).plans.front();
}

double reference_per_token(const PlanInput& input) {
  const Reference& reference = *input.reference;
  return reference.count * reference.price_per_hour / 3600 /
         tokens_per_s(reference, input.job.model);
}

std::string beside_reference(const PlanInput& input, const Found& found, const Plan& alone) {
  const Reference& reference = *input.reference;
  const Plan& best = found.plans.front();
  const double speed = tokens_per_s(reference, input.job.model);
  std::string text = fmt::format("{}: {} tokens/s; the best plan has {} of that.\n", reference.name,
                                 grouped(speed), shortest(best.tokens_per_s / speed, 3));
  if (found.equal)
    text +=
        fmt::format("As fast as {}: {} peers, {} stages, codec {}.\n", reference.name,
                    found.equal->peers, found.equal->choice.deal.size(), codec_name(*found.equal));
  const double theirs = per_billion(reference_per_token(input));
  const double ours = per_billion(best.money_per_token());
  if (theirs <= 0 || ours <= 0) return text;
  const double free = per_billion(alone.money_per_token());
  text +=
      fmt::format("10^9 tokens cost {} here, {} there, and would cost {} here without a network. ",
                  fixed(ours, 2), fixed(theirs, 2), fixed(free, 2));
  if (free >= theirs) return text + "The devices save nothing, whatever the network.\n";
  return text + fmt::format("The network takes {} % of what the devices save: it {} the saving.\n",
                            fixed(100 * (ours - free) / (theirs - free), 0),
                            ours >= theirs ? "outweighs" : "does not outweigh");
}

nlohmann::json json_of(const Plan& plan, const std::vector<Device>& devices) {
  nlohmann::json stages = nlohmann::json::array();
  for (const auto& counts : plan.choice.deal) {
    nlohmann::json stage = nlohmann::json::object();
    for (size_t d = 0; d < devices.size(); ++d)
      if (counts[d] > 0) stage[devices[d].name] = counts[d];
    stages.push_back(std::move(stage));
  }
  return {{"stages", plan.choice.deal.size()},
          {"peers", plan.peers},
          {"microbatch", plan.choice.microbatch},
          {"in_flight", plan.flow.in_flight},
          {"codec", codec_name(plan)},
          {"tokens_per_s", plan.tokens_per_s},
          {"utilisation", plan.flow.utilisation},
          {"bound", to_string(plan.flow.bound)},
          {"bytes_per_token", plan.bytes_per_token},
          {"memory_bytes", plan.memory_bytes},
          {"state_bytes", plan.state_bytes},
          {"money_per_hour", plan.money_per_hour},
          {"money_per_token", plan.money_per_token()},
          {"lost", plan.flow.lost},
          {"step_s", plan.flow.step_s},
          {"work_s", plan.flow.work_s},
          {"fill_s", plan.flow.fill_s},
          {"averaging_s", plan.flow.averaging_s},
          {"latency_s", plan.flow.latency_s},
          {"devices", stages}};
}

}  // namespace

std::string plan_text(const PlanInput& input, const Found& found, size_t top) {
  if (found.plans.empty())
    return fmt::format("No machine has the memory for its part: at least {} GB are needed.\n",
                       fixed(found.least_memory_bytes / 1e9, 1));
  const Plan& best = found.plans.front();
  std::string text = table(found, top) + "\n";
  const Plan alone = without_network(input);
  text += fmt::format("Without a network {} stages would make {} tokens/s, {} % more.\n",
                      alone.choice.deal.size(), grouped(alone.tokens_per_s),
                      percent(alone.tokens_per_s / best.tokens_per_s - 1));
  if (input.job.tokens > 0) {
    text += fmt::format("{} tokens: {}", shortest(input.job.tokens, 4),
                        bill(input.job.tokens, best.tokens_per_s, best.money_per_token()));
    if (input.reference)
      text += "; " + input.reference->name + ": " +
              bill(input.job.tokens, tokens_per_s(*input.reference, input.job.model),
                   reference_per_token(input));
    text += ".\n";
  }
  if (input.reference) text += beside_reference(input, found, alone);
  return text;
}

std::string plan_json(const PlanInput& input, const Found& found, size_t top) {
  nlohmann::json root;
  root["plans"] = nlohmann::json::array();
  for (size_t i = 0; i < std::min(top, found.plans.size()); ++i)
    root["plans"].push_back(json_of(found.plans[i], input.devices));
  root["flops_per_token"] = flops_per_token(input.job.model);
  if (found.plans.empty())
    root["least_memory_bytes"] = found.least_memory_bytes;
  else
    root["tokens_per_s_without_network"] = without_network(input).tokens_per_s;
  if (found.equal) root["as_fast_as_reference"] = json_of(*found.equal, input.devices);
  if (input.reference)
    root["reference"] = {{"name", input.reference->name},
                         {"tokens_per_s", tokens_per_s(*input.reference, input.job.model)},
                         {"money_per_token", reference_per_token(input)}};
  return root.dump(2) + "\n";
}

}  // namespace swarm::plan
