#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>

#include "actors/net/log.h"
#include "apps/commands/checks.h"
#include "apps/commands/commands.h"
#include "apps/sim/many_runs.h"
#include "apps/sim/simulation.h"
#include "routing/steps/slot_fault.h"

namespace swarm::apps {
namespace {

struct Arguments {
  uint64_t seed = 1;
  std::string seeds;  ///< "A..B"; empty: `seed` only.
  uint32_t nodes = 0;
  uint32_t stages = 0;
  uint32_t steps = 0;
  bool traffic = false;
  std::string profile = "all";
  bool events = false;
  std::string drop_gradient;
  bool delayed_updates = false;
  bool asynchronous = false;
  std::string topology = "auto";
  std::string averaging = "none";
  uint64_t max_faults = ~0ull;
  uint32_t jobs = 1;
};

/// "3..40" -> (3, 40). Errors: kInvalidArgument.
Result<std::pair<uint64_t, uint64_t>> parse_seeds(const std::string& text) {
  uint64_t from = 0, to = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, from);
  const bool dots =
      first.ec == std::errc() && end - first.ptr > 2 && first.ptr[0] == '.' && first.ptr[1] == '.';
  const auto last = dots ? std::from_chars(first.ptr + 2, end, to) : first;
  if (!dots || last.ec != std::errc() || last.ptr != end || from > to)
    return Error{ErrorCode::kInvalidArgument, "--seeds takes A..B with A <= B < 2^64, not " + text};
  return std::pair{from, to};
}

/// Requires a name of the table.
actors::Topology topology_of(const std::string& name) {
  const auto* first = std::begin(actors::kTopologyNames);
  return static_cast<actors::Topology>(std::find(first, std::end(actors::kTopologyNames), name) -
                                       first);
}

/// Requires a name of the table.
tensor::Codec codec_of(const std::string& name) {
  const auto names = tensor::codec_names();
  return static_cast<tensor::Codec>(std::find(names.begin(), names.end(), name) - names.begin());
}

sim::SimulationOptions options_of(const Arguments& arguments, sim::FaultProfile profile,
                                  uint64_t seed) {
  sim::SimulationOptions options;
  options.seed = seed;
  options.profile = profile;
  options.nodes = arguments.nodes;
  options.stages = arguments.stages;
  options.steps = arguments.steps;
  options.traffic = arguments.traffic;
  options.drop_gradient = arguments.drop_gradient;
  options.delayed_updates = arguments.delayed_updates;
  options.asynchronous = arguments.asynchronous;
  options.topology = topology_of(arguments.topology);
  options.averaging = codec_of(arguments.averaging);
  options.max_faults = arguments.max_faults;
  return options;
}

/// One line for a run alone, the whole story of a violation.
sim::RunLine run_one(const sim::SimulationOptions& options, bool events, bool alone,
                     std::string& text) {
  auto report = sim::simulate(options);
  const auto add = [&text](const std::string& line) { text += line + "\n"; };
  if (events) std::for_each(report.events.begin(), report.events.end(), add);
  sim::RunLine line;
  line.seed = report.seed;
  line.violated = report.violation.has_value();
  line.lost_stage = !report.lost_stage.empty();
  line.faults = report.faults;
  line.recoveries = report.recoveries;
  line.moves = report.moves;
  line.given_up = report.given_up;
  line.virtual_s = report.virtual_s;
  const bool whole = options.max_faults > sim::kMostFaults && !options.traffic;
  line.lost_s = whole ? sim::lost_per_fault(options, report) : NAN;
  if (alone)
    add(
        fmt::format("seed {}, faults {}: hash {:016x}, {} events, {} faults, {} recoveries, "
                    "{:.1f} virtual seconds{}",
                    report.seed, sim::to_string(report.profile), report.hash, report.events.size(),
                    report.faults, report.recoveries, report.virtual_s,
                    std::isnan(line.lost_s) ? std::string()
                                            : fmt::format(", {:.2f} lost per fault", line.lost_s)));
  if (line.lost_stage) add(fmt::format("seed {}: {}", report.seed, report.lost_stage));
  std::for_each(report.traffic.begin(), report.traffic.end(), add);
  if (!report.violation) return line;
  if (options.max_faults > sim::kMostFaults) report = sim::simulate_shortest(options);
  text += sim::explain(report);
  return line;
}

int run_profile(const Arguments& arguments, sim::FaultProfile profile, uint64_t from, uint64_t to) {
  const bool alone = from == to;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t computed = std::clock();
  sim::RunsSummary summary;
  sim::run_seeds(
      from, to, arguments.jobs,
      [&](uint64_t seed, std::string& text) {
        return run_one(options_of(arguments, profile, seed), arguments.events, alone, text);
      },
      [&](const sim::RunLine& line, const std::string& text) {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
        summary.add(line);
      });
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (alone && arguments.traffic)
    std::printf("wall seconds %.1f, of them computing %.1f\n", wall_s,
                static_cast<double>(std::clock() - computed) / CLOCKS_PER_SEC);
  if (!alone) std::printf("%s\n", summary.text(sim::to_string(profile), wall_s).c_str());
  return summary.violations() == 0 ? 0 : 1;
}

int run(const Arguments& arguments) {
  auto seeds = arguments.seeds.empty() ? Result(std::pair{arguments.seed, arguments.seed})
                                       : parse_seeds(arguments.seeds);
  if (!seeds) {
    std::fprintf(stderr, "swarm sim: %s\n", seeds.error().detail.c_str());
    return kBadConfig;
  }
  if (!arguments.drop_gradient.empty() && !routing::parse_slot_fault(arguments.drop_gradient)) {
    std::fprintf(stderr, "swarm sim: --drop-gradient takes STEP:SLOT, such as 3:1, not %s\n",
                 arguments.drop_gradient.c_str());
    return kBadConfig;
  }
  if (arguments.stages != 0 && arguments.nodes < arguments.stages + 2) {
    std::fprintf(stderr, "swarm sim: --stages %u needs --nodes of at least %u\n", arguments.stages,
                 arguments.stages + 2);
    return kBadConfig;
  }
  std::vector<sim::FaultProfile> profiles = sim::all_profiles();
  if (arguments.profile != "each") {
    auto one = sim::parse_profile(arguments.profile);
    if (!one) {
      std::fprintf(stderr, "swarm sim: %s, and each, for one after the other\n",
                   one.error().detail.c_str());
      return kBadConfig;
    }
    profiles = {*one};
  }
  actors::open_log(nullptr, "off", "sim");
  int exit_code = 0;
  for (auto profile : profiles)
    exit_code = std::max(exit_code, run_profile(arguments, profile, seeds->first, seeds->second));
  return exit_code;
}

CLI::Validator zero_or(uint32_t from, uint32_t to) {
  return CLI::Validator(
      [=](std::string& text) {
        uint32_t number = 0;
        const bool fits = CLI::detail::lexical_cast(text, number) &&
                          (number == 0 || (number >= from && number <= to));
        return fits ? std::string()
                    : "takes 0 or a number from " + std::to_string(from) + " to " +
                          std::to_string(to) + ", not " + text;
      },
      "");
}

void add_size(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--nodes", arguments.nodes,
                  "Number of nodes, trainers included: 4 to 400; 0: drawn from the seed")
      ->check(zero_or(4, sim::kMostNodes))
      ->capture_default_str();
  command
      .add_option(
          "--stages", arguments.stages,
          "Number of stages, 2 to 16, at least 2 less than nodes; batch and trainers then grow "
          "with the nodes, as they do beyond 64; 0: drawn from the seed, 8 beyond 64 nodes")
      ->check(zero_or(2, sim::kMostStages))
      ->capture_default_str();
  command
      .add_option("--steps", arguments.steps, "Number of steps, 1 to 40; 0: drawn from the seed")
      ->check(zero_or(1, sim::kMostSteps))
      ->capture_default_str();
}

/// How the swarm trains and averages.
void add_mode(CLI::App& command, Arguments& arguments) {
  auto* delayed = command.add_flag("--delayed-updates", arguments.delayed_updates,
                                   "Simulates training.delayed_updates");
  auto* asynchronous =
      command
          .add_flag("--async", arguments.asynchronous,
                    "Simulates training.mode = \"async\"; its other keys are drawn from the seed")
          ->excludes(delayed);
  command
      .add_option(
          "--averaging", arguments.averaging,
          "Simulates wire.averaging, with error feedback; parameters are then checked up to what "
          "the codec may take. Not with --async")
      ->check(CLI::IsMember(tensor::codec_names()))
      ->capture_default_str()
      ->excludes(asynchronous);
  command
      .add_option(
          "--topology", arguments.topology,
          "Simulates averager.topology: auto, butterfly or two_level, in stages of any size")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(actors::kTopologyNames),
                                                     std::end(actors::kTopologyNames))))
      ->capture_default_str();
}

}  // namespace

void add_sim(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "sim", "Runs a swarm of the real actors in virtual time under faults drawn from a seed");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--seed", arguments->seed, "Seed of a single run")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("--seeds", arguments->seeds,
                      "A..B: one run for each of these seeds, a summary for each kind of faults");
  add_size(*command, *arguments);
  command
      ->add_option("--faults", arguments->profile,
                   sim::profiles_help() + "; each: all of these, one after another")
      ->capture_default_str();
  command->add_flag("--events", arguments->events, "Prints what happened, in virtual time");
  command->add_flag("--traffic", arguments->traffic,
                    "Prints messages and bytes per node and virtual second, by kind of mail");
  add_mode(*command, *arguments);
  command->add_option("--jobs", arguments->jobs, "Processes that share the seeds of a range")
      ->check(CLI::Range(1u, 1'024u))
      ->capture_default_str();
  command
      ->add_option("--max-faults", arguments->max_faults,
                   "Carries out no more than this many of the faults that the seed draws")
      ->check(not_negative());
  command->add_option(
      "--drop-gradient", arguments->drop_gradient,
      "Loses the gradient of one microbatch on purpose, to see that this is found: STEP:SLOT, "
      "numbers from 0");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace swarm::apps
