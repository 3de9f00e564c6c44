// `swarm compare`: a disturbed run's loss curve and speed beside undisturbed runs'.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/commands.h"
#include "apps/launch/compare_runs.h"
#include "common/numbers.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string disturbed;
  std::vector<std::string> undisturbed;
  double min_ratio = 0;
  std::map<std::string, double> bars;  ///< Seconds that a kind of fault may cost.
};

const char* verdict(const launch::CurveComparison& c) {
  if (c.same_curve()) return "the same curve";
  if (c.steps == 0) return "NO STEP IN COMMON";
  return c.outside_widened == 0 ? "the same curve as far as it goes, but STEPS ARE MISSING"
                                : "ANOTHER CURVE";
}

/// Prints what each kind of fault cost. False: more than its bar, or there is a bar and no such fault.
bool within_bars(const std::vector<launch::FaultCost>& costs, const Arguments& a) {
  bool within = true;
  auto open = a.bars;
  if (!costs.empty())
    std::printf("%-10s %6s %12s %10s %8s\n", "fault", "count", "lost, median", "worst", "at most");
  for (const auto& cost : costs) {
    const auto bar = open.find(cost.kind);
    const bool missed = bar != open.end() && cost.median_s > bar->second;
    std::printf("%-10s %6zu %10.2f s %8.2f s %8s%s\n", cost.kind.c_str(), cost.faults,
                cost.median_s, cost.worst_s,
                bar == open.end() ? "-" : fixed(bar->second, 1).c_str(), missed ? "  MISSED" : "");
    within = within && !missed;
    if (bar != open.end()) open.erase(bar);
  }
  for (const auto& bar : open) std::printf("no fault of kind %s\n", bar.first.c_str());
  return within && open.empty();
}

int compare(const Arguments& a) {
  std::vector<launch::RunCurve> curves;
  for (size_t i = 0; i <= a.undisturbed.size(); ++i) {
    auto curve = launch::read_curve(i == 0 ? a.disturbed : a.undisturbed[i - 1]);
    if (!curve) {
      std::fprintf(stderr, "swarm compare: %s\n", to_string(curve.error()).c_str());
      return kBadConfig;
    }
    curves.push_back(std::move(*curve));
  }
  const launch::RunCurve disturbed = curves.front();
  curves.erase(curves.begin());
  const auto c = launch::compare_curves(disturbed, curves);
  using Ull = unsigned long long;
  std::printf("loss curves of %llu steps, %zu undisturbed runs; %llu steps missing\n",
              static_cast<Ull>(c.steps), curves.size(), static_cast<Ull>(c.missing));
  std::printf("  undisturbed runs differ by at most %.3e nats (order of summation)\n", c.spread);
  std::printf("  outside their band: %llu steps, by at most %.3e nats (step %llu)\n",
              static_cast<Ull>(c.outside_band), c.worst, static_cast<Ull>(c.worst_step));
  std::printf("  outside the band widened by %.3e nats: %llu steps\n", c.margin,
              static_cast<Ull>(c.outside_widened));
  std::printf("throughput %.0f tokens/s, undisturbed %.0f (median): ratio %.3f\n",
              disturbed.tokens_per_s, c.undisturbed_tokens_per_s, c.ratio);
  const bool within = within_bars(disturbed.costs, a);
  std::printf("%s\n", verdict(c));
  return within && c.same_curve() && c.ratio >= a.min_ratio ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("compare", "Compares a disturbed run's losses and speed with others'");
  auto a = std::make_shared<Arguments>();
  command->add_option("RUN", a->disturbed, "Run folder of the disturbed run")->required();
  command
      ->add_option("UNDISTURBED", a->undisturbed, "Run folders of the same experiment, left alone")
      ->required();
  command
      ->add_option("--min-ratio", a->min_ratio,
                   "Exit code 1 if the disturbed run has less than this share of the others' "
                   "tokens per second")
      ->check(CLI::Range(0.0, 10.0));
  command
      ->add_option_function<std::vector<std::string>>(
          "--most-lost",
          [a](const std::vector<std::string>& said) {
            for (size_t i = 0; i + 1 < said.size(); i += 2)
              if (!CLI::detail::lexical_cast(said[i + 1], a->bars[said[i]]))
                throw CLI::ValidationError("--most-lost", said[i + 1] + " is no number of seconds");
          },
          "KIND SECONDS: exit code 1 if [chaos] faults of this kind (kill, stop, pause, "
          "cut, full_disk) cost the disturbed run more, in the median")
      ->type_size(2)
      ->expected(-1);
  command->callback([a, &exit_code] { exit_code = compare(*a); });
}

}  // namespace swarm::apps
