// `swarm compare`: a disturbed run's loss curve and speed beside undisturbed runs'.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/launch/compare_runs.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string disturbed;
  std::vector<std::string> undisturbed;
  double min_ratio = 0;
};

const char* verdict(const launch::CurveComparison& c) {
  if (c.same_curve()) return "the same curve";
  if (c.steps == 0) return "NO STEP IN COMMON";
  return c.outside_widened == 0 ? "the same curve as far as it goes, but STEPS ARE MISSING"
                                : "ANOTHER CURVE";
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
  std::printf("%s\n", verdict(c));
  return c.same_curve() && c.ratio >= a.min_ratio ? 0 : 1;
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
  command->callback([a, &exit_code] { exit_code = compare(*a); });
}

}  // namespace swarm::apps
