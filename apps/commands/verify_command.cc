#include <CLI/CLI.hpp>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/commands/compute_arguments.h"

namespace swarm::apps {

void add_verify(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand(
      "verify", "Compares the parameters of a swarm with those of one process on the same samples");
  auto a = std::make_shared<VerifyArguments>();
  add_config_arguments(*command, a->config);
  command->get_option("FILE")->description(
      "Experiment file to train now, or folder of a run that has ended");
  auto* steps = command->add_option("--steps", a->steps, "For a FILE: optimizer steps to train")
                    ->check(CLI::Range(1, 1000000))
                    ->capture_default_str();
  command->add_option(
      "--drop-slot", a->drop_slot,
      "For a FILE: the swarm loses the gradient of one microbatch on purpose, STEP:SLOT, "
      "numbers from 0");
  auto* tolerance =
      command
          ->add_option("--tolerance", a->tolerance,
                       "Largest relative difference of a tensor; with --from-start, swarms "
                       "whose codecs round are judged only if it is given")
          ->check(CLI::Range(0.0, 1.0))
          ->capture_default_str();
  command->add_flag(
      "--from-start", a->from_start,
      "For a folder: replays all steps in one go, not from each snapshot to the next");
  command
      ->add_option("--threads", a->threads,
                   "For a folder: number of LibTorch threads; 0: as node.threads")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->callback([a, steps, tolerance, &program] {
    a->steps_given = steps->count() > 0;
    a->tolerance_given = tolerance->count() > 0;
    program.compute_here([a](const Compute& compute) { return compute.verify(*a); });
  });
}

}  // namespace swarm::apps
