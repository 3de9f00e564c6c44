// Of one run and over several: numbers from files. Their text is sweep_table.cc.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/sweep/sweep_table.h"

namespace swarm::sweep {
namespace {

using Json = nlohmann::json;

std::optional<double> number(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_number()) return std::nullopt;
  const auto value = at->get<double>();
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::string text(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

struct StepLine {
  double time = 0, seconds = 0, loss = 0;
};

/// Only steps: the line of the final validation has no seconds and no loss.
std::vector<StepLine> read_steps(const std::vector<std::string>& metrics, double& retries,
                                 std::optional<double>& validation) {
  std::vector<StepLine> steps;
  for (const auto& line : metrics) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    if (const auto loss = number(json, "validation_loss")) validation = loss;
    const auto loss = number(json, "train_loss"), time = number(json, "time");
    if (!time || !loss) continue;
    steps.push_back({*time, number(json, "seconds").value_or(0), *loss});
    const auto attempts = number(json, "attempts"), slots = number(json, "slots");
    if (attempts && slots) retries += std::max(0.0, *attempts - *slots);
  }
  return steps;
}

std::vector<double> resumes(const std::vector<std::string>& events) {
  std::vector<double> out;
  for (const auto& line : events) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || text(json, "event") != "run_resumed") continue;
    if (const auto time = number(json, "time")) out.push_back(*time);
  }
  return out;
}

/// A step that a resume lies before counts with its own time only.
double trained_seconds(const std::vector<StepLine>& steps, const std::vector<double>& resumed) {
  double sum = steps.front().seconds;
  for (size_t i = 1; i < steps.size(); ++i) {
    const double before = steps[i - 1].time, time = steps[i].time;
    const bool gap = std::any_of(resumed.begin(), resumed.end(),
                                 [&](double at) { return before < at && at <= time; });
    sum += gap ? steps[i].seconds : std::max(0.0, time - before);
  }
  return sum;
}

}  // namespace

RunFigures read_figures(const std::string& summary_json, const std::vector<std::string>& metrics,
                        const std::vector<std::string>& events) {
  RunFigures out;
  const Json summary = Json::parse(summary_json, nullptr, false);
  if (summary.is_object()) {
    out.status = text(summary, "status");
    out.reason = text(summary, "reason");
    out.tokens_per_second = number(summary, "tokens_per_second");
    out.run_seconds = number(summary, "seconds").value_or(0);
  }
  double retries = 0;
  const auto steps = read_steps(metrics, retries, out.validation_loss);
  if (steps.empty()) return out;
  out.retries = retries;
  out.seconds = trained_seconds(steps, resumes(events));
  const size_t last = std::min(kLastSteps, steps.size());
  double sum = 0;
  for (size_t i = steps.size() - last; i < steps.size(); ++i) sum += steps[i].loss;
  out.train_loss = sum / static_cast<double>(last);
  return out;
}

std::optional<Spread> spread(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  Spread out;
  out.count = values.size();
  for (const double value : values) out.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return out;
}

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = {"train_loss", "validation_loss", "seconds",
                                                 "tokens_per_second", "retries"};
  return names;
}

std::vector<Row> make_rows(const Plan& plan, const Figures& figures) {
  std::vector<Row> rows;
  std::vector<std::vector<std::vector<double>>> values(plan.settings.size());
  for (const auto& setting : plan.settings) rows.push_back({setting.label, 0, 0, {}});
  for (const auto& cell : plan.cells) {
    Row& row = rows[cell.setting];
    ++row.runs;
    const auto found = figures.find(cell.name);
    if (found == figures.end() || found->second.status != "finished") continue;
    ++row.finished;
    const RunFigures& run = found->second;
    const std::optional<double> columns[] = {run.train_loss, run.validation_loss, run.seconds,
                                             run.tokens_per_second, run.retries};
    auto& mine = values[cell.setting];
    mine.resize(column_names().size());
    for (size_t i = 0; i < mine.size(); ++i)
      if (columns[i]) mine[i].push_back(*columns[i]);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    values[i].resize(column_names().size());
    for (const auto& column : values[i]) rows[i].columns.push_back(spread(column));
  }
  return rows;
}

}  // namespace swarm::sweep
