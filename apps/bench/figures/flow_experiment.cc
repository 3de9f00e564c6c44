#include "apps/bench/figures/flow_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/value.h"

namespace swarm::apps {
namespace {

constexpr size_t kWidth = 64, kSequence = 128, kSamples = 16;
constexpr double kActivationBytes = kSamples * kSequence * kWidth * sizeof(float);
constexpr double kLeastWay_s = 0.005;

std::string key(const char* name, double value) {
  return fmt::format("{} = {}\n", name, config::print_float(value));
}

std::string link_keys(const FlowScenario& scenario, const FlowPeer& peer) {
  std::string text;
  const double most = 2 * kActivationBytes;  // of a stage in the middle
  if (peer.up_s > 0) text += key("send_bytes_per_s", most / peer.up_s);
  if (peer.down_s > 0) text += key("receive_bytes_per_s", most / peer.down_s);
  const double way_s = (scenario.way_s < kLeastWay_s ? 0 : scenario.way_s) + peer.away_s;
  if (way_s > 0) text += key("link_delay_s", way_s);
  return text;
}

std::string nodes(const FlowScenario& scenario) {
  std::string nodes, paths;
  each_peer(scenario, [&](size_t stage, const std::string& name, const FlowPeer& peer) {
    nodes += fmt::format("\n[[nodes]]\nname = \"{}\"\nstages = [{}]\n", name, stage) +
             key("delay_s", peer.compute_s) + link_keys(scenario, peer);
    if (peer.away_s > 0)  // what it receives is as late by its own key
      paths += fmt::format("\n[[paths]]\nfrom = \"{}\"\nto = \"*\"\n", name) +
               key("delay_s", peer.away_s);
  });
  for (uint32_t t = 0; t < scenario.trainers; ++t)
    nodes += fmt::format("\n[[nodes]]\nname = \"trainer-{}\"\ntrainer = true\n", t) +
             link_keys(scenario, {});
  return nodes + paths;
}

using Keys = std::map<std::string, std::string>;

std::string sections(const FlowScenario& scenario) {
  size_t peers = 0;
  each_peer(scenario, [&](size_t, const std::string&, const FlowPeer&) { ++peers; });
  std::map<std::string, Keys> all;
  all["run"] = {
      {"name", "\"wiring\""}, {"seed", fmt::format("{}", scenario.seed)}, {"tensorboard", "false"}};
  all["model"] = {{"layers", fmt::format("{}", scenario.stages.size())},
                  {"width", fmt::format("{}", kWidth)},
                  {"heads", "1"},
                  {"ffn", "64"},
                  {"sequence", fmt::format("{}", kSequence)}};
  all["pipeline"] = {{"stages", fmt::format("{}", scenario.stages.size())}};
  all["data"] = {{"train", "[\"/usr/share/common-licenses\"]"}};
  all["training"] = {{"steps", "1000000"},
                     {"batch", fmt::format("{}", scenario.microbatches * kSamples)},
                     {"microbatch", fmt::format("{}", kSamples)},
                     {"validation_samples", fmt::format("{}", kSamples)},
                     {"min_peers", fmt::format("{}", peers)}};
  if (scenario.asynchronous) {
    all["training"]["mode"] = "\"async\"";
    all["training"]["background_averaging"] = "true";
  }
  all["optimizer"] = {{"learning_rate", "1e-3"}, {"warmup_steps", "2"}};
  all["wiring"] = {
      {"cost", "\"" + routing::wiring_cost_names()[static_cast<size_t>(scenario.cost)] + "\""}};
  if (scenario.in_flight)
    all["trainer"] = {{"max_in_flight", fmt::format("{}", *scenario.in_flight)}};
  all["checkpoint"] = {{"every_steps", "0"}};
  all["node"] = {{"log_level", "\"warn\""}};
  std::string text;
  for (const auto& [section, keys] : all) {
    text += "[" + section + "]\n";
    for (const auto& [name, value] : keys) text += name + " = " + value + "\n";
  }
  return text;
}

}  // namespace

std::string flow_experiment(const FlowScenario& scenario) {
  return sections(scenario) + nodes(scenario);
}

double link_part(const FlowScenario& scenario, size_t stage) {
  const bool first = stage == 0, last = stage + 1 == scenario.stages.size();
  return ((first ? 0 : 1) + (last ? 0 : 1)) / 2.0;
}

}  // namespace swarm::apps
