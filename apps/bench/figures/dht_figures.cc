#include "apps/bench/figures/dht_figures.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

/// "median / p99", in milliseconds.
std::string both(const std::vector<double>& seconds) {
  if (seconds.empty()) return "-";
  return fmt::format("{:.0f} / {:.0f}", median(seconds) * 1e3, quantile(seconds, 0.99) * 1e3);
}

}  // namespace

std::string dht_table(const std::vector<DhtFigures>& all) {
  TextTable table({"nodes", "round trip ms", "store ms", "first read ms", "again ms",
                   "messages/s a node", "bytes/s a node", "killed", "read ms", "found %"});
  for (const auto& one : all)
    table.add({std::to_string(one.nodes), fmt::format("{:.0f}", one.round_trip_s * 1e3),
               both(one.store_s), both(one.first_s), both(one.again_s),
               fmt::format("{:.1f}", one.messages_per_s), fmt::format("{:.0f}", one.bytes_per_s),
               std::to_string(one.killed), both(one.after_s),
               one.expected == 0 ? "-"
                                 : fmt::format("{:.1f}", 100 * static_cast<double>(one.found) /
                                                             static_cast<double>(one.expected))});
  return table.text();
}

std::string dht_json(const std::vector<DhtFigures>& all) {
  auto rows = nlohmann::json::array();
  for (const auto& one : all)
    rows.push_back({{"nodes", one.nodes},
                    {"round_trip_s", one.round_trip_s},
                    {"store_s", one.store_s},
                    {"first_read_s", one.first_s},
                    {"read_again_s", one.again_s},
                    {"messages_per_s", one.messages_per_s},
                    {"bytes_per_s", one.bytes_per_s},
                    {"killed", one.killed},
                    {"read_after_kills_s", one.after_s},
                    {"found", one.found},
                    {"expected", one.expected}});
  return nlohmann::json{{"dht", rows}}.dump(2) + "\n";
}

}  // namespace swarm::apps
