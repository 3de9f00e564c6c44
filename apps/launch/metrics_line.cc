#include "apps/launch/metrics_line.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace swarm::launch {
namespace {

using Json = nlohmann::json;

std::optional<double> number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  if (!(std::abs(value) <= kMostPlausible)) return std::nullopt;
  return value;
}

uint64_t count(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return 0;
  const auto value = found->get<uint64_t>();
  return value <= static_cast<uint64_t>(kMostPlausible) ? value : 0;
}

const Json* array(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? &*found : nullptr;
}

std::optional<StageStaleness> staleness(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto mean = number(json, "mean"), max = number(json, "max");
  if (!mean || !max) return std::nullopt;
  StageStaleness out{*mean, *max, {}};
  if (const Json* histogram = array(json, "histogram"))
    for (const auto& entry : *histogram)
      out.histogram.push_back(entry.is_number_unsigned() ? entry.get<uint64_t>() : 0);
  return out;
}

}  // namespace

std::optional<MetricsLine> parse_metrics(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_unsigned()) return std::nullopt;
  MetricsLine out;
  out.step = step->get<uint64_t>();
  if (out.step > static_cast<uint64_t>(kMostPlausible)) return std::nullopt;
  out.time_s = number(json, "time");
  out.train_loss = number(json, "train_loss");
  out.validation_loss = number(json, "validation_loss");
  out.tokens = count(json, "tokens");
  out.tokens_per_s = number(json, "tokens_per_second").value_or(0);
  out.seconds = number(json, "seconds").value_or(0);
  if (out.train_loss) out.gradient_norm = number(json, "gradient_norm");
  out.slots = count(json, "slots");
  out.attempts = count(json, "attempts");
  if (const Json* peers = array(json, "live_peers"))
    for (const auto& entry : *peers)
      out.live_peers.push_back(entry.is_number_integer() ? entry.get<int64_t>() : -1);
  if (const Json* stages = array(json, "staleness"))
    for (const auto& stage : *stages) out.staleness.push_back(staleness(stage));
  return out;
}

uint64_t StalenessTotals::add(size_t stage, const std::vector<uint64_t>& histogram) {
  auto& all = stages[stage];
  if (all.size() < histogram.size()) all.resize(histogram.size());
  uint64_t count = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    all[i] += histogram[i];
    count += histogram[i];
  }
  updates += count;
  return count;
}

void StalenessTotals::add(const MetricsLine& line) {
  stages.resize(std::max(stages.size(), line.staleness.size()));
  for (size_t stage = 0; stage < line.staleness.size(); ++stage) {
    if (!line.staleness[stage]) continue;
    const uint64_t count = add(stage, line.staleness[stage]->histogram);
    sum += line.staleness[stage]->mean * static_cast<double>(count);
  }
}

void StalenessTotals::add(const StalenessTotals& other) {
  stages.resize(std::max(stages.size(), other.stages.size()));
  for (size_t stage = 0; stage < other.stages.size(); ++stage) add(stage, other.stages[stage]);
  sum += other.sum;
}

std::optional<double> StalenessTotals::mean() const {
  return updates > 0 ? std::optional<double>(sum / static_cast<double>(updates)) : std::nullopt;
}

}  // namespace swarm::launch
