#include "records/metrics.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace swarm::records {
namespace {

void drop_implausible(std::optional<double>& value) {
  if (value && !(std::abs(*value) <= kMostPlausible)) value.reset();
}

void drop_implausible(uint64_t& value) {
  if (value > static_cast<uint64_t>(kMostPlausible)) value = 0;
}

}  // namespace

uint64_t& TrafficBytes::operator[](size_t i) {
  SWARM_CHECK(i < 4);
  uint64_t* const all[] = {&control, &gradients, &activations, &state};
  return *all[i];
}

std::string to_json(const StepMetrics& line) {
  Object out = write_fields(line);
  // A reader of the file sees which numbers there are, also where one was not measured.
  for (const char* key : {"train_loss", "tokens_per_second", "gradient_norm"})
    if (find(out, key) == nullptr) out.push_back({key, {}});
  const auto leave_out = [&out](const char* key) {
    out.erase(std::remove_if(out.begin(), out.end(),
                             [key](const auto& member) { return member.first == key; }),
              out.end());
  };
  if (line.staleness.empty()) leave_out("staleness");
  if (line.learners.empty()) leave_out("learners");
  return to_json(out);
}

std::optional<StepMetrics> parse_metrics(const std::string& text) {
  const auto object = parse_object(text);
  const Value* step = object ? find(*object, "step") : nullptr;
  const auto number = step != nullptr ? step->whole() : std::nullopt;
  if (!number || *number > static_cast<uint64_t>(kMostPlausible)) return std::nullopt;
  StepMetrics line = read_fields<StepMetrics>(*object);
  for (auto* value : {&line.time_s, &line.train_loss, &line.tokens_per_second,
                      &line.validation_loss, &line.gradient_norm})
    drop_implausible(*value);
  drop_implausible(line.tokens);
  if (!(std::abs(line.seconds) <= kMostPlausible)) line.seconds = 0;
  if (!line.train_loss) line.gradient_norm.reset();  // nothing was trained
  return line;
}

const std::vector<MetricColumn>& metric_columns() {
  using Line = const StepMetrics&;
  static const std::vector<MetricColumn> columns = {
      {"train_loss", "loss/train", "Training loss", "nats per token", true, true, false,
       [](Line line) { return line.train_loss; }},
      {"validation_loss", "loss/validation", "Validation loss", "nats per token", true, true, false,
       [](Line line) { return line.validation_loss; }},
      {"tokens_per_second", "tokens_per_second", "Throughput", "tokens/s of each step", false, true,
       true, [](Line line) { return line.tokens_per_second; }},
      {"gradient_norm", "gradient_norm", "Gradient norm before clipping", "", true, false, true,
       [](Line line) { return line.gradient_norm; }},
  };
  return columns;
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

void StalenessTotals::add(const StepMetrics& line) {
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

}  // namespace swarm::records
