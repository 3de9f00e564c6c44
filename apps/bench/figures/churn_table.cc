#include "apps/bench/figures/churn_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/numbers.h"

namespace swarm::apps {
namespace {

/// In parts of the optimum; what is 0 is not judged.
struct Bar {
  double all = 0, last_hour = 0;
  double most_empty_s = std::numeric_limits<double>::infinity();
};

struct Row {
  ChurnArm arm;
  Bar bar;
};

// rows: one arm each
const std::vector<Row> kDay = {
    {{false, false, 0}, {}},
    {{true, false, 0}, {}},
    {{false, true, 300}, {0.958, 0.889}},
    {{false, true, 60}, {0.976, 0.917}},
    {{true, true, 300}, {}},
    {{true, true, 60}, {0.98}},
};

// rows: one arm each
const std::vector<Row> kStress = {
    {{false, false, 0}, {}},
    {{true, false, 0}, {}},
    {{false, true, 60}, {}},
    {{true, true, 60}, {0.92, 0, 0}},
};

bool meets(const ChurnFigures& figures, const Bar& bar) {
  return figures.all >= bar.all && figures.last_hour >= bar.last_hour &&
         figures.empty_s <= bar.most_empty_s;
}

std::string percent(double share) { return fixed(100 * share, 1); }

std::string judged(const ChurnFigures& figures, const Bar& bar) {
  if (bar.all == 0) return "";
  std::string text = meets(figures, bar) ? "ok: >= " : "MISSED: >= ";
  text += percent(bar.all);
  if (bar.most_empty_s == 0) text += ", never empty";
  if (bar.last_hour > 0) text += ", last " + percent(bar.last_hour);
  return text;
}

std::string header(const ChurnProfile& profile, const ChurnTableOptions& options) {
  return fmt::format(
      "{}: {} peers, {} stages, {} h; mean of {} seeds; % of the optimum, in () of alive / stages\n"
      "{:<28}{:>14}{:>7}{:>14}{:>9}{:>8}{:>9}{:>9}  {}",
      profile.name, profile.peers, profile.stages, profile.hours(), options.seeds, "arm", "all",
      "first", "last", "moves/h", "GB/h", "empty s", "few s", "bar");
}

std::string line(const Row& row, const ChurnFigures& figures) {
  const auto both = [](double share, double divisible) {
    return fmt::format("{} ({})", percent(share), percent(divisible));
  };
  return fmt::format("{:<28}{:>14}{:>7}{:>14}{:>9}{:>8}{:>9}{:>9}  {}", row.arm.name(),
                     both(figures.all, figures.all_divisible), percent(figures.first_hour),
                     both(figures.last_hour, figures.last_hour_divisible),
                     fixed(figures.moves_per_h, 1), fixed(figures.moved_bytes_per_h / 1e9, 1),
                     fixed(figures.empty_s, 1), fixed(figures.too_few_s, 0),
                     judged(figures, row.bar));
}

std::string json_line(const ChurnProfile& profile, const ChurnArm& arm, const ChurnFigures& figures,
                      uint64_t seeds) {
  return nlohmann::json{{"trace", profile.name},
                        {"peers", profile.peers},
                        {"stages", profile.stages},
                        {"seeds", seeds},
                        {"places", arm.places},
                        {"moves", arm.moves},
                        {"period_s", arm.period_s},
                        {"all", figures.all},
                        {"first_hour", figures.first_hour},
                        {"last_hour", figures.last_hour},
                        {"all_divisible", figures.all_divisible},
                        {"last_hour_divisible", figures.last_hour_divisible},
                        {"moves_per_h", figures.moves_per_h},
                        {"moved_bytes_per_h", figures.moved_bytes_per_h},
                        {"empty_s", figures.empty_s},
                        {"too_few_s", figures.too_few_s},
                        {"mean_alive", figures.mean_alive},
                        {"replay_s", figures.replay_s}}
      .dump();
}

using TraceOf = std::function<ChurnTrace(uint64_t seed)>;

TraceOf drawn(const ChurnProfile& profile) {
  return [profile](uint64_t seed) { return draw_trace(profile, seed); };
}

ChurnFigures run(const ChurnProfile& profile, const TraceOf& trace_of, const ChurnArm& arm,
                 const ChurnTableOptions& options) {
  ChurnFigures mean;
  const double part = 1.0 / static_cast<double>(options.seeds);
  for (uint64_t seed = 1; seed <= options.seeds; ++seed) {
    const ChurnTrace trace = trace_of(seed);
    const double began_s = options.seconds ? options.seconds() : 0;
    const auto result = replay_churn(
        profile, trace, {options.costs, arm.places, arm.moves, arm.period_s, options.floor, seed});
    if (options.seconds) mean.replay_s += part * (options.seconds() - began_s);
    mean.all += part * result.all.share();
    mean.first_hour += part * result.first_hour.share();
    mean.last_hour += part * result.last_hour.share();
    mean.all_divisible += part * result.all.share_of_divisible();
    mean.last_hour_divisible += part * result.last_hour.share_of_divisible();
    mean.moves_per_h += part * static_cast<double>(result.moves) / result.hours;
    mean.moved_bytes_per_h += part * result.moved_bytes / result.hours;
    mean.empty_s += part * result.empty_s;
    mean.too_few_s += part * result.too_few_s;
    mean.mean_alive += part * result.mean_alive;
  }
  return mean;
}

int table(const ChurnProfile& profile, const TraceOf& trace_of, const std::vector<Row>& rows,
          const ChurnTableOptions& options, const Print& print) {
  if (!options.json) print(header(profile, options));
  int missed = 0;
  for (const Row& row : rows) {
    const ChurnFigures figures = run(profile, trace_of, row.arm, options);
    missed += !meets(figures, row.bar);
    print(options.json ? json_line(profile, row.arm, figures, options.seeds) : line(row, figures));
  }
  return missed;
}

}  // namespace

std::string ChurnArm::name() const {
  if (!places && !moves) return "nothing";
  std::string text = places ? "placed" : "";
  if (moves) text += fmt::format("{}moved, T = {} s", places ? ", " : "", period_s);
  return text;
}

ChurnFigures run_churn(const ChurnProfile& profile, const ChurnArm& arm,
                       const ChurnTableOptions& options) {
  return run(profile, drawn(profile), arm, options);
}

int day_table(const ChurnTableOptions& options, const Print& print) {
  return table(day_profile(), drawn(day_profile()), kDay, options, print);
}

int stress_table(const ChurnTableOptions& options, const Print& print) {
  return table(stress_profile(), drawn(stress_profile()), kStress, options, print);
}

void trace_table(const ChurnProfile& profile, const ChurnTrace& trace, double period_s,
                 const ChurnTableOptions& options, const Print& print) {
  const std::vector<Row> rows = {{{false, false, 0}, {}},
                                 {{true, false, 0}, {}},
                                 {{false, true, period_s}, {}},
                                 {{true, true, period_s}, {}}};
  table(
      profile, [&trace](uint64_t) { return trace; }, rows, options, print);
}

void size_table(const ChurnTableOptions& options, uint32_t most_peers, const Print& print) {
  ChurnTableOptions once = options;
  once.seeds = 1;
  const ChurnArm nothing, both{true, true, 60};
  if (!options.json)
    print(fmt::format("sizes: 32 h; % of the optimum\n{:>7}{:>8}{:>9}{:>24}{:>9}{:>9}{:>10}",
                      "peers", "stages", "nothing", both.name(), "moves/h", "empty s", "replay s"));
  for (const uint32_t peers : {100u, 1'000u, 10'000u}) {
    for (const uint32_t stages : {4u, 8u, 16u, 32u}) {
      if (peers > most_peers) return;
      const auto profile = size_profile(peers, stages);
      const auto before = run_churn(profile, nothing, once),
                 figures = run_churn(profile, both, once);
      if (options.json) {
        print(json_line(profile, nothing, before, 1));
        print(json_line(profile, both, figures, 1));
        continue;
      }
      print(fmt::format("{:>7}{:>8}{:>9}{:>24}{:>9}{:>9}{:>10}", peers, stages, percent(before.all),
                        percent(figures.all), fixed(figures.moves_per_h, 1),
                        fixed(figures.empty_s, 1), fixed(figures.replay_s, 2)));
    }
  }
}

}  // namespace swarm::apps
