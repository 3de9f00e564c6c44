#include "apps/bench/figures/checkpoint_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

std::string gb_per_s(uint64_t bytes, double seconds) {
  return seconds > 0 ? fmt::format("{:.2f}", static_cast<double>(bytes) / seconds * 1e-9) : "-";
}

}  // namespace

double cpu_per_100_million(const CheckpointFigures& figures) {
  if (figures.parameters == 0) return 0;
  return median(figures.cpu_s) * 1e8 / static_cast<double>(figures.parameters);
}

double share_of_raw(const CheckpointFigures& figures) {
  std::vector<double> shares;
  for (size_t i = 0; i < figures.raw_s.size() && i < figures.write_s.size(); ++i)
    if (figures.write_s[i] > 0) shares.push_back(figures.raw_s[i] / figures.write_s[i]);
  return median(shares);
}

double longest_step(const CheckpointFigures& figures) {
  const double quiet = median(figures.quiet_steps_s);
  if (figures.busy_steps_s.empty() || quiet <= 0) return 0;
  return *std::max_element(figures.busy_steps_s.begin(), figures.busy_steps_s.end()) / quiet;
}

std::string checkpoint_table(const CheckpointFigures& figures) {
  TextTable table({"of a snapshot", "seconds", "GB/s"});
  const auto row = [&](const char* what, const std::vector<double>& seconds) {
    table.add(
        {what, fmt::format("{:.3f}", median(seconds)), gb_per_s(figures.bytes, median(seconds))});
  };
  row("the stage copies its state", figures.freeze_s);
  row("the store makes it durable", figures.write_s);
  row("a plain file and fsync", figures.raw_s);
  row("CPU, copy and store", figures.cpu_s);
  return fmt::format(
      "{}\n{} parameters, {:.1f} MB, medians of {} rounds\n"
      "CPU seconds for 100 million parameters: {:.2f}\n"
      "of a plain file's rate: {:.0f} %\n"
      "longest step with a snapshot, by the median without: {:.2f} ({} and {} steps of {:.2f} s)\n",
      table.text(), figures.parameters, static_cast<double>(figures.bytes) * 1e-6,
      figures.write_s.size(), cpu_per_100_million(figures), 100 * share_of_raw(figures),
      longest_step(figures), figures.busy_steps_s.size(), figures.quiet_steps_s.size(),
      median(figures.quiet_steps_s));
}

std::string checkpoint_json(const CheckpointFigures& figures) {
  const nlohmann::json all = {{"parameters", figures.parameters},
                              {"bytes", figures.bytes},
                              {"cpu_s_per_100_million", cpu_per_100_million(figures)},
                              {"share_of_raw", share_of_raw(figures)},
                              {"longest_step", longest_step(figures)},
                              {"rounds_freeze_s", figures.freeze_s},
                              {"rounds_write_s", figures.write_s},
                              {"rounds_raw_s", figures.raw_s},
                              {"rounds_cpu_s", figures.cpu_s},
                              {"quiet_steps_s", figures.quiet_steps_s},
                              {"busy_steps_s", figures.busy_steps_s}};
  return nlohmann::json{{"checkpoint", all}}.dump(2) + "\n";
}

}  // namespace swarm::apps
