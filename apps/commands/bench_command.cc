#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "actors/net/log.h"
#include "apps/bench/bench.h"
#include "apps/commands/commands.h"
#include "apps/sim/flow_table.h"

namespace swarm::apps {
namespace {

void add_averaging(CLI::App& bench, Program& program) {
  auto options = std::make_shared<AveragingBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand("averaging",
                                       "All-reduce between processes on this machine, beside Gloo");
  command
      ->add_option("--elements", options->elements,
                   "Lengths of the vectors [floats]; several are measured in turn")
      ->delimiter(',')
      ->check(CLI::Range(1ull, 250'000'000ull))
      ->capture_default_str();
  command
      ->add_option("--peers", options->peers,
                   "How many processes average, one each; several are measured in turn")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Measured rounds of each combination")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Prints JSON with every round");
  command->callback([options, &program] {
    program.compute_here(
        [options](const Compute& compute) { return compute.bench_averaging(*options); });
  });
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
  command->callback([&exit_code, options] { exit_code = bench_links(*options); });
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

void add_wiring(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<sim::FlowTableOptions>();  // these are shared with the callback
  auto part = std::make_shared<std::string>("all");
  auto* command = bench.add_subcommand(
      "wiring", "In the simulator: who gets how much of the work, and how busy peers are");
  command->add_option("--part", *part, "Which table")
      ->check(CLI::IsMember({"shares", "utilisation", "all"}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the network's delays")
      ->capture_default_str();
  command->add_flag("!--only-ours", options->others,
                    "Shares without the other wirings beside: response, compute, random, fixed");
  command->add_option("--only", options->only,
                      "Scenarios with this in their name, e.g. \"asynchronous 4 one slow link\"");
  command->add_flag("--peers", options->peers, "Prints what each peer can carry, and carries");
  command->add_flag("--json", options->json, "Prints a JSON object a line");
  command->callback([&exit_code, options, part] {
    actors::open_log("", "off", "bench");
    const auto print = [](const std::string& line) {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    };
    int missed = 0;
    if (*part != "utilisation") missed += sim::shares_table(*options, print);
    if (*part != "shares") missed += sim::utilisation_table(*options, print);
    exit_code = missed == 0 ? 0 : 1;
  });
}

}  // namespace

void add_bench(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("bench", "Measures this machine and this build");
  command->require_subcommand(1);
  auto* transport =
      command->add_subcommand("transport", "Tensors and small requests between two processes");
  transport->callback([&program] { program.exit_code = bench_transport(); });
  auto* overhead =
      command->add_subcommand("overhead", "Tokens per second beside a plain LibTorch loop");
  overhead->callback([&program] {
    program.compute_here([](const Compute& compute) { return compute.bench_overhead(); });
  });
  add_averaging(*command, program);
  add_failover(*command, program.exit_code);
  add_links(*command, program.exit_code);
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
