#include "apps/report/csv.h"

#include <fmt/format.h>

#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr int kDigits = 12;

std::string number(const std::optional<double>& value) {
  return value ? shortest(*value, kDigits) : std::string();
}

/// "2 1 2 2"; a stage without a number is "-".
template <class T, class F>
std::string by_stage(const std::vector<T>& stages, F text) {
  std::string out;
  for (const auto& stage : stages) out += (out.empty() ? "" : " ") + text(stage);
  return out;
}

using Staleness = std::optional<records::StageStaleness>;

std::string csv_line(const Run& run, const records::StepMetrics& line) {
  std::string out = fmt::format("{},", line.step);
  out += number(line.time_s ? std::optional(run.clock.seconds(*line.time_s)) : std::nullopt) + ",";
  for (const auto& column : records::metric_columns()) out += number(column.value(line)) + ",";
  out += fmt::format("{},{},{},", line.tokens, line.slots, line.attempts);
  out +=
      by_stage(line.live_peers,
               [](int64_t peers) { return peers < 0 ? std::string("-") : std::to_string(peers); }) +
      ",";
  out += by_stage(line.staleness,
                  [](const Staleness& stage) {
                    return stage ? shortest(stage->mean) : std::string("-");
                  }) +
         ",";
  return out + by_stage(line.staleness, [](const Staleness& stage) {
           return stage ? std::to_string(stage->max) : std::string("-");
         });
}

}  // namespace

std::string csv_cell(const std::string& text) {
  const bool formula = !text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos;
  std::string out = formula ? "'" + text : text;
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  for (size_t at = 0; (at = out.find('"', at)) != std::string::npos; at += 2) out.insert(at, "\"");
  return "\"" + out + "\"";
}

void write_csv(const std::vector<Run>& runs, const std::vector<Group>& groups,
               const std::function<void(const std::string&)>& write) {
  std::string header = "run,group,seed,step,seconds,";
  for (const auto& column : records::metric_columns()) header += column.key + std::string(",");
  write(header + "tokens,slots,attempts,live_peers,staleness_mean,staleness_max\n");
  for (const auto& group : groups)
    for (const size_t index : group.runs) {
      const Run& run = runs[index];
      const auto seed = run.settings.find("run.seed");
      const std::string begin = csv_cell(run.name) + "," + csv_cell(group.label) + "," +
                                (seed == run.settings.end() ? "" : csv_cell(seed->second)) + ",";
      for (const auto& line : run.lines) write(begin + csv_line(run, line) + "\n");
    }
}

}  // namespace swarm::report
