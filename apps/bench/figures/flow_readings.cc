#include "apps/bench/figures/flow_readings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "apps/bench/figures/flow_experiment.h"
#include "common/statistics.h"

namespace swarm::apps {
namespace {

/// The number after `key`; nothing if there is none.
std::optional<double> number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(at + key.size()));
  double number = 0;
  if (!(rest >> number)) return std::nullopt;
  return number;
}

double capacity(const FlowScenario& scenario, size_t stage, const FlowPeer& peer,
                double compute_s) {
  double most = std::numeric_limits<double>::infinity();
  if (compute_s > 0) most = 1 / compute_s;
  for (const double link_s : {peer.up_s, peer.down_s})
    if (link_s > 0) most = std::min(most, 1 / (link_s * link_part(scenario, stage)));
  return most;
}

}  // namespace

std::optional<uint64_t> read_forwards(const std::string& text) {
  const auto number = number_after(text, "\nforwards ");
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

void read_told(const std::string& text, FlowReadings& readings) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto compute_s = number_after(line, " last: compute_s=");
    std::istringstream words(line);
    std::string peer, name;
    if (compute_s && *compute_s > 0 && words >> peer >> name)
      readings.compute_s[name].push_back(*compute_s);
  }
}

std::optional<CpuReading> read_cpu(const std::string& line) {
  std::istringstream words(line);
  std::string cpu;
  // user nice system idle iowait irq softirq steal
  uint64_t times[8] = {};
  if (!(words >> cpu) || cpu != "cpu") return std::nullopt;
  for (uint64_t& time : times)
    if (!(words >> time)) return std::nullopt;
  CpuReading reading;
  for (const uint64_t time : times) reading.all += time;
  reading.busy = reading.all - times[1] - times[3] - times[4];
  return reading;
}

std::optional<double> mean_loss(const std::vector<records::StepMetrics>& lines, double from_s) {
  double sum = 0;
  int count = 0;
  for (const auto& line : lines) {
    if (!line.train_loss || line.time_s.value_or(0) < from_s) continue;
    sum += *line.train_loss;
    ++count;
  }
  return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
}

FlowResult flow_result(const FlowScenario& scenario, const FlowReadings& before,
                       const FlowReadings& after) {
  FlowResult result;
  result.stages.resize(scenario.stages.size());
  each_peer(scenario, [&](size_t stage, const std::string& name, const FlowPeer& peer) {
    const auto told = after.compute_s.find(name);
    const auto& from = before.peers.at(name);
    const auto& to = after.peers.at(name);
    FlowResult::Peer one;
    one.name = name;
    one.capacity = capacity(scenario, stage, peer,
                            told == after.compute_s.end() ? peer.compute_s : median(told->second));
    const double seconds = to.at_s - from.at_s;
    if (seconds > 0) one.carried = static_cast<double>(to.forwards - from.forwards) / seconds;
    result.stages[stage].push_back(one);
  });
  complete(result, scenario);
  const auto all = static_cast<double>(after.cpu.all - before.cpu.all);
  FlowMachine machine;
  if (all > 0) machine.cpu = static_cast<double>(after.cpu.busy - before.cpu.busy) / all;
  result.machine = machine;
  return result;
}

}  // namespace swarm::apps
