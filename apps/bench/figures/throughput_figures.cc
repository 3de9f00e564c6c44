#include "apps/bench/figures/throughput_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {

std::vector<double> ratios(const ThroughputFigures& figures) {
  std::vector<double> out;
  for (size_t i = 0; i < std::min(figures.swarm.size(), figures.alone.size()); ++i)
    out.push_back(figures.alone[i] > 0 ? figures.swarm[i] / figures.alone[i] : 0);
  return out;
}

std::string throughput_table(const std::vector<ThroughputFigures>& all) {
  TextTable table({"stages x 1 peer", "passes", "tokens/s", "one process, threads", "tokens/s",
                   "ratio", "rounds"});
  for (const auto& one : all)
    table.add({std::to_string(one.stages), one.precision, fmt::format("{:.0f}", median(one.swarm)),
               std::to_string(one.threads), fmt::format("{:.0f}", median(one.alone)),
               fmt::format("{:.2f}", median(ratios(one))),
               fmt::format("{:.2f}", fmt::join(ratios(one), " "))});
  return table.text();
}

std::string throughput_json(const std::string& name, const std::vector<ThroughputFigures>& all) {
  auto rows = nlohmann::json::array();
  for (const auto& one : all)
    rows.push_back({{"stages", one.stages},
                    {"precision", one.precision},
                    {"threads", one.threads},
                    {"ratio", median(ratios(one))},
                    {"rounds_swarm_tokens_per_s", one.swarm},
                    {"rounds_alone_tokens_per_s", one.alone}});
  return nlohmann::json{{name, rows}}.dump(2) + "\n";
}

}  // namespace swarm::apps
