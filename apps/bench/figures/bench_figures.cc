#include "apps/bench/figures/bench_figures.h"

#include <nlohmann/json.hpp>

#include "common/numbers.h"
#include "common/text_table.h"

namespace swarm::apps {

double AveragingFigures::gigabytes_per_s() const {
  const double seconds = ours();
  return seconds > 0 ? static_cast<double>(elements) * sizeof(float) / seconds / 1e9 : 0;
}

std::string averaging_table(const std::vector<AveragingFigures>& all) {
  TextTable table(
      {"floats", "peers", "first s", "ours s", "GB/s", "gloo s", "ours/gloo", "gloo's"});
  for (const auto& one : all) {
    const bool gloo = !one.gloo_s.empty();
    table.add({fixed(static_cast<double>(one.elements) / 1e6, 1) + " M", std::to_string(one.peers),
               fixed(one.first_s, 3), fixed(one.ours(), 3), fixed(one.gigabytes_per_s(), 2),
               gloo ? fixed(one.gloo(), 3) : "-", gloo ? fixed(one.ratio(), 2) : "-",
               gloo ? one.gloo_algorithm : "-"});
  }
  return table.text();
}

std::string averaging_json(const std::vector<AveragingFigures>& all) {
  auto list = nlohmann::json::array();
  for (const auto& one : all) {
    nlohmann::json entry{{"elements", one.elements},
                         {"peers", one.peers},
                         {"first_s", one.first_s},
                         {"median_s", one.ours()},
                         {"gb_per_s", one.gigabytes_per_s()},
                         {"rounds_s", one.ours_s}};
    if (!one.gloo_s.empty())
      entry["gloo"] = {{"algorithm", one.gloo_algorithm},
                       {"median_s", one.gloo()},
                       {"rounds_s", one.gloo_s},
                       {"ratio", one.ratio()}};
    list.push_back(std::move(entry));
  }
  return nlohmann::json{{"averaging", list}}.dump(2) + "\n";
}

}  // namespace swarm::apps
