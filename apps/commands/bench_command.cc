#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "actors/net/log.h"
#include "apps/bench/bench.h"
#include "apps/bench/figures/churn_table.h"
#include "apps/bench/figures/churn_trace_file.h"
#include "apps/bench/figures/flow_table.h"
#include "apps/bench/process_flow.h"
#include "apps/commands/bench_options.h"
#include "apps/commands/commands.h"
#include "apps/sim/flow.h"
#include "records/files.h"

namespace swarm::apps {
namespace {

void add_dht(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<DhtBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "dht",
      "How long stores and reads take, what nodes say, in virtual time, by size of the swarm");
  command->add_option("--nodes", options->nodes, "Sizes of the swarm, measured one after another")
      ->delimiter(',')
      ->check(CLI::Range(2, 2'000))
      ->capture_default_str();
  command
      ->add_option("--min-delay", options->min_delay_s,
                   "The shortest delay of a message, one way [s]")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command
      ->add_option("--max-delay", options->max_delay_s,
                   "The longest delay of a message, one way [s]")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command
      ->add_option("--killed", options->killed, "The fraction of the nodes that vanishes at once")
      ->check(CLI::Range(0.0, 0.95))
      ->capture_default_str();
  command
      ->add_option("--samples", options->samples,
                   "How many stores, and reads of each kind, are timed")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of node ids, delays and choices")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Prints JSON with every sample");
  command->callback([&exit_code, options] { exit_code = bench_dht(*options); });
}

void add_failover(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<FailoverBenchOptions>();  // these are shared with the callback
  auto file = std::make_shared<ConfigArguments>();
  auto* command = bench.add_subcommand(
      "failover", "How long a killed or paused stage peer holds up a training run");
  add_config_arguments(*command, *file);
  command->add_option("--kills", options->kills, "How many peers are killed with -9")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str();
  command->add_option("--pauses", options->pauses, "How many peers are paused with SIGSTOP")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the choice of victims and moments")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Prints JSON with every kill and pause");
  command->callback([&exit_code, options, file] {
    options->file = file->file;
    options->overrides = file->overrides;
    exit_code = bench_failover(*options);
  });
}

void add_records(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<RecordsBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "records",
      "A week of a node's events, metrics and audit: what is left on the disk (minutes)");
  command->add_option("--steps", options->steps, "How many steps are recorded")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--records-mb", options->records_mb, "As node.records_mb [MiB]")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--audit-mb", options->audit_mb, "As node.audit_mb [MiB]")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->callback([&exit_code, options] { exit_code = bench_records(*options); });
}

void add_links(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<LinksBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "links", "Artificial rates and delays of links, asked for and measured (a minute)");
  command
      ->add_option("--rates", options->rates,
                   "Rates to ask for [bytes/s]; several are measured in turn")
      ->delimiter(',')
      ->check(CLI::Range(4096.0, 1e9))
      ->capture_default_str();
  command
      ->add_option("--delays", options->delays_s,
                   "Delays to ask for [s]; each is measured with each rate")
      ->delimiter(',')
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  command->add_option("--at", options->at,
                      "HOST:PORT of a running node: measures the link to it instead");
  command->add_option("--megabytes", options->megabytes, "With --at: sent there and back")
      ->check(CLI::Range(0.001, 256.0))
      ->capture_default_str();
  command
      ->add_option("--silence", options->silence_s,
                   "With --at: sent again at once, and once more after so many seconds")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  command->callback([&exit_code, options] { exit_code = bench_links(*options); });
}

/// Of `swarm bench churn`.
struct ChurnArguments {
  ChurnTableOptions table;
  std::string part = "all";
  uint32_t most_peers = 10'000;
  std::string trace, write;  ///< Files; "": none.
  uint32_t stages = 4;
  double period_s = 60, hours = 0;
};

/// The trace of the day's first seed.
int write_churn(const std::string& path) {
  std::ofstream file(path);
  file << print_trace(draw_trace(day_profile(), 1)) << std::flush;
  if (!file) std::fprintf(stderr, "swarm bench churn: --write: cannot write %s\n", path.c_str());
  return file ? 0 : 1;
}

int replay_file(const ChurnArguments& arguments, const Print& print) {
  const auto fail = [](const Error& error) {
    std::fprintf(stderr, "swarm bench churn: %s\n", error.detail.c_str());
    return 2;
  };
  const auto text = records::read_file(arguments.trace);
  if (!text) return fail(text.error());
  const auto trace = parse_trace(*text, arguments.trace);
  if (!trace) return fail(trace.error());
  const auto profile = profile_of(*trace, arguments.trace, arguments.stages, arguments.hours);
  if (!profile) return fail(profile.error());
  trace_table(*profile, *trace, arguments.period_s, arguments.table, print);
  return 0;
}

int bench_churn(const ChurnArguments& arguments) {
  const Print print = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  if (!arguments.write.empty()) return write_churn(arguments.write);
  if (!arguments.trace.empty()) return replay_file(arguments, print);
  const bool all = arguments.part == "all";
  int missed = 0;
  if (all || arguments.part == "day") missed += day_table(arguments.table, print);
  if (all || arguments.part == "stress") missed += stress_table(arguments.table, print);
  if (all || arguments.part == "sizes") size_table(arguments.table, arguments.most_peers, print);
  return missed == 0 ? 0 : 1;
}

void add_churn_files(CLI::App& command, ChurnArguments& arguments) {
  auto* trace = command.add_option(
      "--trace", arguments.trace,
      "Replays this file instead: lines of SECONDS NODE join|leave, in order of time");
  command.add_option("--stages", arguments.stages, "With --trace: of the swarm")
      ->needs(trace)
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command.add_option("--period", arguments.period_s, "With --trace: between looks for moves [s]")
      ->needs(trace)
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command
      .add_option("--hours", arguments.hours, "With --trace: it lasts, if not to its last event")
      ->needs(trace)
      ->check(CLI::Range(0.0, 1e6));
  command
      .add_option("--write", arguments.write,
                  "Writes a drawn trace to this file, as --trace reads it, and measures nothing")
      ->excludes(trace);
}

void add_churn(CLI::App& bench, int& exit_code) {
  auto arguments = std::make_shared<ChurnArguments>();  // shared with the callback
  arguments->table.seconds = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  auto* command = bench.add_subcommand(
      "churn", "32 h of nodes that come and go, by arithmetic: what placement and moves save");
  command->add_option("--part", arguments->part, "Which of the tables of churn is made")
      ->check(CLI::IsMember({"day", "stress", "sizes", "all"}))
      ->capture_default_str();
  command
      ->add_option("--seeds", arguments->table.seeds,
                   "How many seeds the tables of a day and of stress are means of")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--floor", arguments->table.floor, "Peers that a stage keeps")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  auto& costs = arguments->table.costs;
  command->add_option("--model-bytes", costs.model_bytes, "State of all stages together [bytes]")
      ->check(CLI::Range(1.0, 1e15))
      ->capture_default_str();
  command
      ->add_option("--link-bytes-per-s", costs.link_bytes_per_s,
                   "Rate at which a newcomer downloads its state [bytes/s]")
      ->check(CLI::Range(1e3, 1e12))
      ->capture_default_str();
  command
      ->add_option("--most-peers", arguments->most_peers,
                   "Leaves swarms of more peers out of the table of sizes")
      ->capture_default_str();
  command->add_flag("--json", arguments->table.json, "Prints a JSON object a line");
  add_churn_files(*command, *arguments);
  command->callback([&exit_code, arguments] { exit_code = bench_churn(*arguments); });
}

void add_codec(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<CodecBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "codec", "What encoding tensors costs a core, beside its memory, and what it loses");
  command->add_option("--values", options->values, "How many values are encoded at a time [floats]")
      ->check(CLI::Range(uint64_t{1}, uint64_t{250'000'000}))
      ->capture_default_str();
  add_rounds(*command, *options, "Measured rounds of each codec");
  command->callback([&exit_code, options] { exit_code = bench_codec(*options); });
}

void add_startup(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<StartupBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "startup", "How long commands take to start, and the memory of nodes that compute nothing");
  command->add_option("--rounds", options->rounds, "How often each command is started")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Prints JSON with every round");
  command->callback([&exit_code, options] { exit_code = bench_startup(*options); });
}

/// Of `swarm bench wiring`.
struct WiringArguments {
  FlowTableOptions table;
  std::string part = "all";
  std::vector<std::string> costs, overrides;
  bool only_ours = false, processes = false;
};

int bench_wiring(WiringArguments& arguments) {
  auto& table = arguments.table;
  const auto& names = routing::wiring_cost_names();
  if (arguments.only_ours || arguments.processes) table.costs.resize(1);
  if (!arguments.costs.empty()) table.costs.clear();
  for (const auto& name : arguments.costs)
    table.costs.push_back(static_cast<routing::WiringCost>(
        std::find(names.begin(), names.end(), name) - names.begin()));
  actors::open_log(nullptr, "off", "bench");
  table.measure = [&](const FlowScenario& scenario) -> Result<FlowResult> {
    if (!arguments.processes) return sim::run_flow(scenario);
    auto result = run_processes(scenario, arguments.overrides);
    if (!result && result.code() == ErrorCode::kCancelled)
      std::exit(130);  // Ctrl-C: no more of them
    return result;
  };
  const auto print = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  int missed = 0;
  if (arguments.part != "utilisation") missed += shares_table(table, print);
  if (arguments.part != "shares") missed += utilisation_table(table, print);
  return missed == 0 ? 0 : 1;
}

void add_wiring_figures(CLI::App& command, WiringArguments& arguments) {
  auto& table = arguments.table;
  command
      .add_option("--compute", table.compute_s,
                  "Seconds that a quick computer takes for a microbatch; links are scaled with it")
      ->check(CLI::Range(0.001, 100.0));
  command.add_option("--settle", table.settle_s, "Seconds before measuring")
      ->check(CLI::Range(0.0, 1e5));
  command.add_option("--measure", table.measured_s, "Seconds of measuring")
      ->check(CLI::Range(1.0, 1e5));
  command
      .add_option("--cost", arguments.costs,
                  "Values of wiring.cost; several are measured in turn, the first is judged")
      ->delimiter(',')
      ->check(CLI::IsMember(routing::wiring_cost_names()));
}

void add_wiring(CLI::App& bench, int& exit_code) {
  auto arguments = std::make_shared<WiringArguments>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "wiring",
      "Who gets how much of the work, and how busy peers are: simulated, or with processes");
  command->add_option("--part", arguments->part, "Which of the tables of wiring is made")
      ->check(CLI::IsMember({"shares", "utilisation", "all"}))
      ->capture_default_str();
  command
      ->add_option("--seed", arguments->table.seed,
                   "Seed of the network's delays; with --processes run.seed")
      ->capture_default_str();
  add_wiring_figures(*command, *arguments);
  command->add_flag("--only-ours", arguments->only_ours,
                    "Shares without the other wirings beside: response, compute, random, fixed");
  command->add_option("--only", arguments->table.only,
                      "Scenarios with this in their name, e.g. \"asynchronous 4 one slow link\"");
  command->add_flag(
      "--processes", arguments->processes,
      "Real nodes on this machine that compute by waiting, instead of simulated ones; "
      "minutes a line, only ours unless --cost is given");
  command
      ->add_option("--set", arguments->overrides,
                   "With --processes: SECTION.KEY=VALUE of their experiment; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_flag("--peers", arguments->table.peers,
                    "Prints what each peer can carry, and carries");
  command->add_flag("--json", arguments->table.json, "Prints a JSON object a line");
  command->callback([&exit_code, arguments] { exit_code = bench_wiring(*arguments); });
}

}  // namespace

void add_bench(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("bench", "Measures this machine and this build");
  command->require_subcommand(1);
  auto* transport =
      command->add_subcommand("transport", "Tensors and small requests between two processes");
  transport->callback([&program] { program.exit_code = bench_transport(); });
  add_compute_benches(*command, program);
  add_churn(*command, program.exit_code);
  add_codec(*command, program.exit_code);
  add_dht(*command, program.exit_code);
  add_failover(*command, program.exit_code);
  add_links(*command, program.exit_code);
  add_records(*command, program.exit_code);
  add_startup(*command, program.exit_code);
  add_wiring(*command, program.exit_code);
  auto* memory = command->add_subcommand("memory", "Resident memory of nodes without work");
  auto* baseline = memory->add_flag(
      "--baseline", "Prints the memory of a process that has only loaded LibTorch [MB]");
  memory->callback([&program, baseline] {
    if (baseline->count() == 0)
      program.exit_code = bench_memory();
    else
      program.compute_here([](const Compute& compute) { return compute.bench_memory_baseline(); });
  });
}

}  // namespace swarm::apps
