#include <CLI/CLI.hpp>

#include "apps/bench.h"
#include "apps/commands.h"

namespace swarm::apps {

void add_bench(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("bench", "Measures this machine and this build");
  command->require_subcommand(1);
  auto* transport =
      command->add_subcommand("transport", "Tensors and small requests between two processes");
  transport->callback([&exit_code] { exit_code = bench_transport(); });
  auto* overhead =
      command->add_subcommand("overhead", "Tokens per second beside a plain LibTorch loop");
  overhead->callback([&exit_code] { exit_code = bench_overhead(); });
  auto* memory = command->add_subcommand("memory", "Resident memory of nodes without work");
  auto* baseline = memory->add_flag("--baseline", "Print this process's own [MB]");
  memory->callback([&exit_code, baseline] {
    exit_code = baseline->count() > 0 ? bench_memory_baseline() : bench_memory();
  });
}

}  // namespace swarm::apps
