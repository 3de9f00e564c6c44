#include <CLI/CLI.hpp>
#include <memory>

#include "apps/commands/checks.h"
#include "apps/commands/commands.h"
#include "apps/commands/compute_arguments.h"

namespace swarm::apps {

void add_sample(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("sample", "Writes text with a run's newest snapshots");
  auto a = std::make_shared<SampleArguments>();
  command->add_option("RUN", a->folder, "Run folder; its nodes must not be running")->required();
  command->add_option("--prompt", a->sample.prompt, "Text that is continued");
  command->add_option("--tokens", a->sample.count, "Number of bytes to write")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--temperature", a->sample.temperature,
                   "How far the choice strays from the likeliest byte; 0: not at all")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command
      ->add_option("--top-k", a->sample.top_k, "Chooses among the k likeliest bytes; 0: among all")
      ->capture_default_str();
  command->add_option("--seed", a->sample.seed, "Seed of the choices")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("--threads", a->threads, "Number of LibTorch threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->callback([a, &program] {
    program.compute_here([a](const Compute& compute) { return compute.sample(*a); });
  });
}

}  // namespace swarm::apps
