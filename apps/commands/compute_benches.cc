#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "apps/bench/bench.h"
#include "apps/commands/bench_options.h"
#include "apps/commands/commands.h"

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
  add_rounds(*command, *options, "Measured rounds of each combination");
  command->callback([options, &program] {
    program.compute_here(
        [options](const Compute& compute) { return compute.bench_averaging(*options); });
  });
}

void add_throughput(CLI::App& bench, Program& program, const std::string& name,
                    const std::string& help) {
  auto options = std::make_shared<ThroughputBenchOptions>();  // shared with the callback
  options->pipeline = name == "pipeline";
  auto* command = bench.add_subcommand(name, help);
  add_rounds(*command, *options,
             "How often the swarm and the single process are measured, in turn");
  command->callback([options, &program] {
    program.compute_here(
        [options](const Compute& compute) { return compute.bench_throughput(*options); });
  });
}

void add_checkpoint(CLI::App& bench, Program& program) {
  auto options = std::make_shared<CheckpointBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "checkpoint",
      "What a snapshot costs beside a plain file of its size, and the steps meanwhile");
  command
      ->add_option("--parameters", options->parameters, "How many parameters the stage has, about")
      ->check(CLI::Range(uint64_t{1}, uint64_t{2'000'000'000}))
      ->capture_default_str();
  add_rounds(*command, *options,
             "How many snapshots are made alone, and how many again during training");
  command->add_option("--folder", options->folder, "A folder on the disk that is to be measured")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  command->callback([options, &program] {
    program.compute_here(
        [options](const Compute& compute) { return compute.bench_checkpoint(*options); });
  });
}

void add_device_bench(CLI::App& bench, Program& program) {
  auto file = std::make_shared<ConfigArguments>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "device", "What a block of an experiment's model takes here: [[devices]] of `swarm plan`");
  add_config_arguments(*command, *file);
  command->callback([file, &program] {
    program.compute_here([file](const Compute& compute) {
      return compute.bench_device({file->file, file->overrides});
    });
  });
}

void add_square_cube(CLI::App& bench, Program& program) {
  auto options = std::make_shared<SquareCubeBenchOptions>();  // shared with the callback
  auto* command = bench.add_subcommand(
      "square-cube", "How computing a block and sending its activations grow with the width");
  const auto heads = [](const std::string& text) {
    return std::strtol(text.c_str(), nullptr, 10) % 64 == 0 ? std::string()
                                                            : text + " is not a multiple of 64";
  };
  command
      ->add_option("--widths", options->widths,
                   "Widths of the model, multiples of 64, measured in turn")
      ->delimiter(',')
      ->check(CLI::Range(64, 16'384))
      ->check(heads)
      ->capture_default_str();
  command
      ->add_option("--microbatch", options->microbatch, "Samples of a microbatch, 128 tokens each")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--compute", options->compute, "Precision of the passes")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  command
      ->add_option("--rate", options->bytes_per_s, "Rate of the link in each direction [bytes/s]")
      ->check(CLI::Range(1e4, 1e11))
      ->capture_default_str();
  command->add_option("--round-trip", options->round_trip_s, "Round trip of the link [s]")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  add_rounds(*command, *options, "How often all widths are measured, in turn");
  command->callback([options, &program] {
    program.compute_here(
        [options](const Compute& compute) { return compute.bench_square_cube(*options); });
  });
}

}  // namespace

void add_compute_benches(CLI::App& bench, Program& program) {
  add_throughput(bench, program, "overhead",
                 "Tokens per second of one and two stages beside a plain LibTorch loop");
  add_throughput(bench, program, "pipeline",
                 "Tokens per second of four stages beside a plain LibTorch loop with 2 threads");
  add_averaging(bench, program);
  add_checkpoint(bench, program);
  add_device_bench(bench, program);
  add_square_cube(bench, program);
}

}  // namespace swarm::apps
