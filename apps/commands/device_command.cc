#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"

namespace swarm::apps {

void add_device(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("device", "Says whether stages can compute on a device here");
  auto name = std::make_shared<std::string>();  // shared with the callback
  command->add_option("DEVICE", *name, "As node.device: cpu, cuda or cuda:N")->required();
  command->callback([name, &program] {
    program.compute_here([name](const Compute& compute) {
      const Status there = compute.check_device(*name);
      std::printf("%s\n", there ? ("device \"" + *name + "\" can be used").c_str()
                                : there.error().detail.c_str());
      return there ? 0 : kBadConfig;
    });
  });
}

}  // namespace swarm::apps
