#include "apps/bench/figures/throughput_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {

namespace {

std::vector<double> quotients(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> out;
  for (size_t i = 0; i < std::min(above.size(), below.size()); ++i)
    out.push_back(below[i] > 0 ? above[i] / below[i] : 0);
  return out;
}

}  // namespace

std::vector<double> ratios(const ThroughputFigures& figures) {
  return quotients(figures.swarm, figures.alone);
}

std::vector<double> bounds(const ThroughputFigures& figures) {
  auto out = quotients(figures.one_thread, figures.alone);
  for (double& bound : out) bound *= figures.threads;
  return out;
}

std::string throughput_table(const std::vector<ThroughputFigures>& all) {
  TextTable table({"stages x 1 peer", "passes", "tokens/s", "one process, threads", "tokens/s",
                   "ratio", "rounds", "bound"});
  for (const auto& one : all)
    table.add({std::to_string(one.stages), one.precision, fmt::format("{:.0f}", median(one.swarm)),
               std::to_string(one.threads), fmt::format("{:.0f}", median(one.alone)),
               fmt::format("{:.2f}", median(ratios(one))),
               fmt::format("{:.2f}", fmt::join(ratios(one), " ")),
               one.one_thread.empty() ? "-" : fmt::format("{:.2f}", median(bounds(one)))});
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
                    {"rounds_alone_tokens_per_s", one.alone},
                    {"rounds_one_thread_tokens_per_s", one.one_thread}});
  return nlohmann::json{{name, rows}}.dump(2) + "\n";
}

}  // namespace swarm::apps
