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
}

}  // namespace swarm::apps
